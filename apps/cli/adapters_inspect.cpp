// veneer adapters inspect: what an adapter file holds, and whether it fits a model.
#include "adapt/adapter_report.h"
#include "adapters.h"
#include "core/format.h"
#include "io/printable.h"
#include "results.h"

namespace veneer::cli {
namespace {

constexpr size_t kDefectsShown = 8;

std::string counts_text(const Json& counts, const char* unit) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : counts.items())
    texts.push_back(concat(io::printable(name), " (", count.get<int64_t>(), " ", unit, ")"));
  return texts.empty() ? "none" : join(texts, ", ");
}

std::string list_text(const Json& words) {
  std::vector<std::string> texts;
  for (const Json& word : words) texts.push_back(io::printable(word.get<std::string>()));
  return join(texts, ", ");
}

std::string line(const char* title, const std::string& value) {
  return value.empty() ? "" : concat("  ", title, ": ", value, "\n");
}

std::string defects_text(const Json& defects) {
  if (defects.empty()) return line("defects", "none");
  std::string text;
  for (size_t i = 0; i < std::min(defects.size(), kDefectsShown); ++i)
    text += line("defect", io::printable(defects[i]["what"].get<std::string>()));
  if (defects.size() > kDefectsShown) text += line("defects", concat(defects.size(), " in all; --json lists them"));
  return text;
}

std::string fit_text(const Json& fit) {
  if (fit["fits"].is_null()) return line("model", io::printable(fit["why"].get<std::string>()));
  std::string text = line(
      "model", concat(io::printable(fit["model"].get<std::string>()), " (", fit["family"].get<std::string>(),
                      "): ", fit["fits"].get<bool>() ? "fits" : "does not fit", ", ", fit["applied"].get<int64_t>(),
                      " of ", fit["total"].get<int64_t>(), " keys would be applied"));
  if (const Json& why = fit["why"]; !why.is_null()) text += line("why", io::printable(why.get<std::string>(), 1024));
  return text;
}

std::string as_text(const Json& json) {
  std::string text = concat(io::printable(json["path"].get<std::string>(), 4096), ": ",
                            io::printable(json["family"].get<std::string>()), ", ", json["keys"].get<int64_t>(),
                            " keys, ", bytes_text(json["bytes"].get<uint64_t>()), "\n");
  for (const auto& [name, counts] : json["components"].items())
    text += line(name.c_str(),
                 concat(counts["modules"].get<int64_t>(), " modules, ", counts["keys"].get<int64_t>(), " keys"));
  text += line("families", counts_text(json["families"], "modules"));
  text += line("ranks", counts_text(json["ranks"], "modules"));
  text += line("alphas", counts_text(json["alphas"], "modules"));
  text += line("types", counts_text(json["types"], "keys"));
  for (const auto& [name, value] : json["trainer"].items())
    text += line(concat("trainer's ", name).c_str(), io::printable(value.get<std::string>()));
  text += line("trigger words", list_text(json["trigger_words"]));
  text += line("token embeddings", list_text(json["embeddings"]));
  if (const Json& looks = json["looks_like"]; !looks.is_null())
    text += line("looks made for",
                 concat(looks["family"].get<std::string>(), " (", looks["evidence"].get<std::string>(), ")"));
  text += line("SHA-256", json["sha256"].get<std::string>());
  text += line("AutoV2", json["auto_v2"].get<std::string>());
  text += line("AutoV3", json["auto_v3"].get<std::string>().substr(0, 12));
  return text + defects_text(json["defects"]) + fit_text(json["fit"]);
}

// Why not all of it is applied, in one line; null when all is.
Json reason(const adapt::Fitted& fitted) {
  const adapt::AdapterAccount& account = fitted.account;
  if (!account.looks_like.empty()) return account.looks_like;
  if (!fitted.broken.empty()) return fitted.broken.front().message;
  return account.keys.applied < account.keys.total ? Json(adapt::count_line(account)) : Json();
}

// A model that cannot be opened, or for which the file's numbering is wrong, is an answer too.
Json fit_json(AdapterOptions& options, Console& console) {
  const auto model = open_adapted(options, "inspect", console);
  if (!model) return {{"fits", nullptr}, {"why", model.error().message}};
  Json json = {{"model", (*model)->files().name}, {"family", (*model)->model().family->name}};
  const auto fitted = (*model)->fit(options.order.adapters.front().name, {});
  if (!fitted) {
    json.update({{"fits", false}, {"applied", 0}, {"total", 0}, {"why", fitted.error().message}});
    return json;
  }
  const adapt::KeyCounts& keys = (*fitted)->account.keys;
  json.update({{"fits", keys.applied > 0},
               {"applied", keys.applied},
               {"refused", keys.refused},
               {"unmatched", keys.unmatched},
               {"ignored", keys.ignored},
               {"total", keys.total},
               {"why", reason(**fitted)}});
  return json;
}

}  // namespace

Status run_adapters_inspect(std::span<const std::string> args, Console& console) {
  AdapterOptions options;
  const OptionTable table{
      "veneer adapters inspect FILE",
      "Shows what an adapter file holds: keys, families, ranks, its trainer's words, hashes, defects.",
      {adapter_files_options(options), adapter_model_options(options), general_options(console.options())}};
  VENEER_TRY(help, parse_adapter_options(table, args));
  if (!help.empty()) return write_stdout(help);
  if (options.order.adapters.size() != 1)
    return Error{ErrorCode::kUsage,
                 concat("adapters inspect: expected one adapter file, found ", options.order.adapters.size()), "FILE"};
  const adapt::Library library(options.model.adapter_dir, adapt::Library::Reach::kAnywhere);
  VENEER_TRY(file, library.find(options.order.adapters.front().name));
  VENEER_TRY(adapter, adapt::open_adapter(file));
  Json json = adapt::describe(*adapter);
  json["fit"] = fit_json(options, console);
  return console.options().json ? write_json(json) : write_stdout(as_text(json));
}

}  // namespace veneer::cli
