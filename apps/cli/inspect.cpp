// veneer inspect: what a file or folder of tensors is. Reads headers only; any file may come.
#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "core/format.h"
#include "data_dir.h"
#include "io/container.h"
#include "io/printable.h"
#include "io/single_file.h"
#include "options.h"
#include "pipeline/describe.h"
#include "results.h"

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNamesShown = 8;

// The layout of a single file that has been opened.
std::string container_of(const fs::path& path, const io::WeightStore& store) {
  if (store.files().size() != 1 || store.files().front()->path() != path) return "shard index";
  for (const io::Container* container : io::containers())
    if (container->sniff(store.files().front()->bytes())) return std::string(container->name);
  return "unknown";
}

Json describe_file(const fs::path& path, const io::WeightStore& store) {
  const io::WeightStore* const only = &store;
  Json json = {{"path", path.string()}, {"container", container_of(path, store)}};
  json.update(pipeline::describe_weights({&only, 1}));
  json["metadata"] = store.metadata();
  return json;
}

Json describe_folder(const fs::path& path, const io::ModelFiles& files) {
  std::vector<const io::WeightStore*> stores;
  for (const auto& [part, held] : files.parts) stores.push_back(&held.weights);
  Json json = {{"path", path.string()}, {"container", "folder"}};
  json.update(pipeline::describe_weights(stores));
  json["metadata"] = Json::object();
  return json;
}

Result<Json> inspect(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    io::ModelPaths paths;
    paths.model = path;
    VENEER_TRY(files, io::open_model_files(paths));
    Json json = describe_folder(path, files);
    json.update(pipeline::describe_model(files));
    return json;
  }
  // Not open_model_files, which refuses a file without any part of a model.
  VENEER_TRY(store, io::open_weights(path));
  io::ModelFiles files = io::sort_into_parts(store, path.string());
  files.name = base_name(path);
  Json json = describe_file(path, store);
  json.update(pipeline::describe_model(files));
  return json;
}

std::string values_text(int64_t parameters) {
  if (parameters < 100000) return std::to_string(parameters);
  char text[48];
  std::snprintf(text, sizeof text, "%.2f M", static_cast<double>(parameters) / 1e6);
  return text;
}

std::string types_text(const Json& types) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : types.items())
    texts.push_back(concat(count["tensors"].get<int64_t>(), " ", io::printable(name)));
  return join(texts, ", ");
}

std::string table_row(const std::string& name, const Json& counts) {
  char text[128];
  std::snprintf(text, sizeof text, "  %-16s %7lld tensors %12s values %9s  ", name.c_str(),
                static_cast<long long>(counts["tensors"].get<int64_t>()),
                values_text(counts["parameters"].get<int64_t>()).c_str(),
                bytes_text(counts["bytes"].get<uint64_t>()).c_str());
  return text + types_text(counts["types"]) + "\n";
}

std::string names_text(const Json& names) {
  std::vector<std::string> texts;
  for (const Json& name : names) {
    if (texts.size() == kNamesShown) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(io::printable(name.get<std::string>()));
  }
  return join(texts, ", ");
}

std::string family_text(const Json& json) {
  if (json["parts"].empty()) return "no part of a model is recognised";
  const std::string_view denoiser = io::name_of(io::Part::kDenoiser);
  if (std::ranges::none_of(json["parts"], [&](const Json& part) { return part["part"] == denoiser; }))
    return "no denoiser";
  if (json["family"].is_null()) return "a denoiser of no known family";
  return concat(json["family"].get<std::string>(), json["supported"].get<bool>() ? "" : " (not supported)");
}

std::string as_table(const Json& json) {
  std::string text = concat(io::printable(json["path"].get<std::string>(), 4096), ": ",
                            json["container"].get<std::string>(), "; ", family_text(json), "\n");
  for (const Json& part : json["parts"]) text += table_row(part["part"].get<std::string>(), part);
  text += table_row("all", json);
  if (!json["markers"].empty()) text += concat("  markers: ", names_text(json["markers"]), "\n");
  if (const auto ignored = json["ignored_tensors"].get<int64_t>(); ignored > 0)
    text += concat("  ignored by rule: ", ignored, " tensors\n");
  if (const Json& unused = json["unused_tensors"]; !unused.empty())
    text += concat("  of no part: ", unused.size(), " tensors: ", names_text(unused), "\n");
  for (const auto& [key, value] : json["metadata"].items())
    text += concat("  metadata ", io::printable(key), ": ", io::printable(value.get<std::string>()), "\n");
  return text;
}

}  // namespace

Status run_inspect(std::span<const std::string> args, Console& console) {
  std::filesystem::path target;
  const OptionTable table{
      "veneer inspect",
      "Shows what a file or folder of tensors holds: family, parts, number formats, sizes.",
      {{"Input", {{"PATH", "PATH", "File or folder; emoji-v1 is the model that ships with the program", path(target)}}},
       general_options(console.options())}};
  VENEER_TRY(help, parse_options(table, args));
  if (!help.empty()) return write_stdout(help);
  if (target.empty()) return Error{ErrorCode::kUsage, "inspect: expected a file or folder, found none", "PATH"};
  VENEER_TRY(json, inspect(model_named(target, data_dir())));
  for (const Json& warning : json["warnings"]) console.write(LogLevel::kWarn, warning.get<std::string>());
  return console.options().json ? write_json(json) : write_stdout(as_table(json));
}

}  // namespace veneer::cli
