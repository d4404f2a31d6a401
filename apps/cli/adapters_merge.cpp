// veneer adapters merge: a new model with adapters worked in.
#include "adapters.h"
#include "core/format.h"
#include "interrupt.h"
#include "io/printable.h"
#include "pipeline/merge_file.h"
#include "progress.h"
#include "results.h"

namespace veneer::cli {
namespace {

struct Options {
  AdapterOptions adapters;
  TypeOptions types;
  pipeline::MergeOptions merge;
};

OptionTable option_table(Options& options, ConsoleOptions& console) {
  pipeline::ConvertOptions& convert = options.merge.convert;
  return {
      "veneer adapters merge FILE...",
      "Writes a new model with adapters worked in, and says what its number formats keep of them.",
      {adapter_files_options(options.adapters),
       adapter_model_options(options.adapters),
       type_options(options.types),
       {"Output",
        {{"-o,--output", "PATH", "File to write, .safetensors or .gguf, or a new folder", path(convert.output)},
         {"--convert-name", "", "Write original (LDM) names with the parts' prefixes", flag(convert.canonical_names)},
         {"--min-survival", "X",
          "Refuse when a format keeps less of the change, 0 to 1 (0.95 for formats that are no plain floats)",
          number(options.merge.min_survival)}}},
       general_options(console)}};
}

std::string as_text(const Json& report) {
  const Json& merge = report["merge"];
  std::string text;
  for (const Json& type : merge["types"])
    text += concat(type["type"].get<std::string>(), ": ", type["layers"].get<int64_t>(), " layers, survival ",
                   figure_text(type, "survival"), ", error ", figure_text(type, "error"), "\n");
  const Json& total = merge["total"];
  return concat(text, "all: ", total["layers"].get<int64_t>(), " layers, survival ", figure_text(total, "survival"),
                ", error ", figure_text(total, "error"), "; written to ",
                io::printable(report["output"].get<std::string>(), 4096), "\n");
}

void log_flagged(const Json& flagged, Console& console) {
  constexpr size_t kShown = 3;
  if (flagged.empty()) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kShown, flagged.size()); ++i)
    names.push_back(io::printable(flagged[i].get<std::string>()));
  console.write(LogLevel::kWarn, concat(flagged.size(),
                                        " layers keep less than 95% of the change, or with an error "
                                        "above 30%: ",
                                        join(names, ", "), flagged.size() > kShown ? ", ..." : ""));
}

Status check(const Options& options) {
  const std::optional<double>& survival = options.merge.min_survival;
  if (survival && !(*survival >= 0 && *survival <= 1))
    return Error{ErrorCode::kUsage, concat("--min-survival: expected 0 to 1, found ", *survival), "--min-survival"};
  if (options.merge.convert.output.empty())
    return Error{ErrorCode::kUsage, "adapters merge: expected a name after -o, found none", "--output"};
  return {};
}

}  // namespace

Status run_adapters_merge(std::span<const std::string> args, Console& console) {
  Options options;
  options.adapters.order.policy = adapt::Policy::kStrict;
  VENEER_TRY(help, parse_adapter_options(option_table(options, console.options()), args));
  if (!help.empty()) return write_stdout(help);
  VENEER_TRY_STATUS(check(options));
  VENEER_TRY(rules, options.types.parse());
  VENEER_TRY(model, open_adapted(options.adapters, "merge", console));
  VENEER_TRY(candidates, model->fit(options.adapters.order));
  VENEER_TRY(entries, model->accepted(std::move(candidates)));
  pipeline::ConvertOptions& convert = options.merge.convert;
  convert.rules = std::move(rules);
  convert.paths = options.adapters.model.paths;
  convert.threads = options.adapters.model.threads;

  pipeline::CancelFlag cancel;
  const InterruptGuard guard(cancel);
  Json report;
  {
    Progress progress(console);
    const auto advance = [&](uint64_t done, uint64_t total) { progress.update_bytes("merge", done, total); };
    VENEER_TRY(done, pipeline::merge_file(*model, entries, options.merge, console.log(), advance, cancel));
    report = std::move(done);
  }
  log_flagged(report["merge"]["flagged"], console);
  return console.options().json ? write_json(report) : write_stdout(as_text(report));
}

}  // namespace veneer::cli
