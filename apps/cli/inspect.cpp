// veneer inspect: what a file or folder of tensors is, or a model put together from several. Reads headers, biases and
// norm vectors only; any file may come.
#include <algorithm>
#include <array>
#include <cstdio>

#include "commands.h"
#include "core/format.h"
#include "data_dir.h"
#include "io/assemble.h"
#include "io/carried_config.h"
#include "io/container.h"
#include "io/printable.h"
#include "io/single_file.h"
#include "model_options.h"
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

// A model, or the parts of one: a folder, or what several options name.
Result<Json> inspect_model(const io::ModelPaths& paths) {
  VENEER_TRY(files, io::open_model_files(paths));
  std::vector<const io::WeightStore*> stores;
  for (const auto& [part, held] : files.parts) stores.push_back(&held.weights);
  std::error_code ignored;
  const bool folder = fs::is_directory(paths.model, ignored);
  Json json = {{"path", paths.model.string()}, {"container", folder ? "folder" : "several files"}};
  json.update(pipeline::describe_weights(stores));
  json["metadata"] = Json::object();
  json.update(pipeline::describe_files(files));
  return json;
}

// Any file. Not open_model_files, which refuses one without any part of a model.
Result<Json> inspect_file(const fs::path& path) {
  VENEER_TRY(store, io::open_weights(path));
  auto assembled = io::assemble_quantized(store, Json(), path.string());
  io::ModelFiles files = io::sort_into_parts(assembled ? assembled->weights : store, path.string());
  files.name = base_name(path);
  if (!assembled) files.warnings.push_back(assembled.error().message);
  if (Status taken = io::take_carried_config(files); !taken) files.warnings.push_back(taken.error().message);
  Json json = describe_file(path, assembled ? assembled->weights : store);
  json.update(pipeline::describe_files(files));
  return json;
}

Result<Json> inspect(const io::ModelPaths& paths) {
  const auto given = [](const fs::path& path) { return !path.empty(); };
  const bool parts =
      std::ranges::any_of(std::array{paths.denoiser, paths.clip_l, paths.clip_g, paths.t5xxl, paths.vae}, given);
  if (!parts && paths.model.empty())
    return Error{ErrorCode::kUsage, "inspect: expected a file or folder, found none", "PATH"};
  std::error_code ignored;
  return parts || fs::is_directory(paths.model, ignored) ? inspect_model(paths) : inspect_file(paths.model);
}

std::string values_text(int64_t parameters) {
  if (parameters < 100000) return std::to_string(parameters);
  char text[48];
  std::snprintf(text, sizeof text, "%.2f M", static_cast<double>(parameters) / 1e6);
  return text;
}

std::string table_row(const std::string& name, const Json& counts) {
  char text[128];
  std::snprintf(text, sizeof text, "  %-16s %7lld tensors %12s values %9s", name.c_str(),
                static_cast<long long>(counts["tensors"].get<int64_t>()),
                values_text(counts["parameters"].get<int64_t>()).c_str(),
                bytes_text(counts["bytes"].get<uint64_t>()).c_str());
  return text;
}

// How much is held in memory when it differs from what is stored.
std::string held_text(const Json& counts) {
  const auto held = bytes_text(counts["held_bytes"].get<uint64_t>());
  return held == bytes_text(counts["bytes"].get<uint64_t>()) ? std::string() : concat(", held as ", held);
}

// A line for each way of storing.
std::string storage_rows(const Json& storage) {
  std::string text;
  for (const auto& [words, count] : storage.items()) text += table_row("", count) + "  " + io::printable(words) + "\n";
  return text;
}

// The first few names, or all of them.
std::string names_text(const Json& names, bool all) {
  std::vector<std::string> texts;
  for (const Json& name : names) {
    if (!all && texts.size() == kNamesShown) {
      texts.emplace_back("... (all with -v)");
      break;
    }
    texts.push_back(io::printable(name.get<std::string>()));
  }
  return join(texts, ", ");
}

std::string part_text(const Json& part, bool all_names) {
  std::string text = table_row(part["part"].get<std::string>(), part) + held_text(part) + "\n";
  text += storage_rows(part["storage"]);
  if (const Json& unused = part["unused_tensors"]; !unused.is_null() && !unused.empty())
    text += concat("    not used: ", unused.size(), " tensors: ", names_text(unused, all_names), "\n");
  if (const auto problem = part.find("problem"); problem != part.end())
    text += concat("    cannot be used: ", io::printable(problem->get<std::string>(), 1024), "\n");
  return text;
}

std::string family_text(const Json& json) {
  if (json["parts"].empty()) return "no part of a model is recognised";
  const std::string_view denoiser = io::name_of(io::Part::kDenoiser);
  if (std::ranges::none_of(json["parts"], [&](const Json& part) { return part["part"] == denoiser; }))
    return "no denoiser";
  if (json["family"].is_null()) return "a denoiser of no known family";
  return concat(json["family"].get<std::string>(), json["supported"].get<bool>() ? "" : " (not supported)");
}

std::string as_table(const Json& json, bool all_names) {
  std::string text = concat(io::printable(json["path"].get<std::string>(), 4096), ": ",
                            json["container"].get<std::string>(), "; ", family_text(json), "\n");
  for (const Json& part : json["parts"]) text += part_text(part, all_names);
  text += table_row("all", json) + held_text(json) + "\n";
  if (json["parts"].empty()) text += storage_rows(json["storage"]);
  if (!json["markers"].empty()) text += concat("  markers: ", names_text(json["markers"], all_names), "\n");
  if (const auto ignored = json["ignored_tensors"].get<int64_t>(); ignored > 0)
    text += concat("  ignored by rule: ", ignored, " tensors\n");
  if (const Json& unused = json["unused_tensors"]; !unused.empty())
    text += concat("  of no part: ", unused.size(), " tensors: ", names_text(unused, all_names), "\n");
  for (const auto& [key, value] : json["metadata"].items())
    text += concat("  metadata ", io::printable(key), ": ", io::printable(value.get<std::string>()), "\n");
  return text;
}

}  // namespace

Status run_inspect(std::span<const std::string> args, Console& console) {
  io::ModelPaths paths;
  std::filesystem::path target;
  const OptionTable table{
      "veneer inspect",
      "Shows what a file or folder of tensors holds: family, parts, number formats, sizes, what is not used.",
      {{"Input", {{"PATH", "PATH", "File or folder; emoji-v1 is the model that ships with the program", path(target)}}},
       model_file_options(paths),
       general_options(console.options())}};
  VENEER_TRY(help, parse_options(table, args));
  if (!help.empty()) return write_stdout(help);
  if (!target.empty() && !paths.model.empty())
    return Error{ErrorCode::kUsage, "inspect: expected one file or folder, found another one after -m", "--model"};
  if (!target.empty()) paths.model = target;
  if (!paths.model.empty()) paths.model = model_named(paths.model, data_dir());
  VENEER_TRY(json, inspect(paths));
  for (const Json& warning : json["warnings"]) console.write(LogLevel::kWarn, warning.get<std::string>());
  return console.options().json ? write_json(json) : write_stdout(as_table(json, console.options().verbose));
}

}  // namespace veneer::cli
