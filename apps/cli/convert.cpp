// veneer convert: a model's files in other number formats, another container or other names.
#include <cstdio>

#include "commands.h"
#include "core/format.h"
#include "data_dir.h"
#include "interrupt.h"
#include "io/printable.h"
#include "model_options.h"
#include "pipeline/convert.h"
#include "progress.h"
#include "results.h"

namespace veneer::cli {
namespace {

struct Options {
  pipeline::ConvertOptions convert;
  TypeOptions types;
};

OptionTable option_table(Options& options, ConsoleOptions& console) {
  pipeline::ConvertOptions& convert = options.convert;
  convert.output = "./output.gguf";
  return {
      "veneer convert",
      "Writes a model anew, in other number formats, another container or with other names.",
      {model_file_options(convert.paths),
       type_options(options.types),
       {"Output",
        {{"-o,--output", "PATH", "File to write, .safetensors or .gguf, or a new folder (./output.gguf)",
          path(convert.output)},
         {"--convert-name", "", "Write original (LDM) names with the parts' prefixes", flag(convert.canonical_names)}}},
       {"Computing",
        {{"-t,--threads", "N", "Threads that encode; 0 or less: the number of physical cores", whole(convert.threads)},
         no_mapping_option(convert.paths)}},
       general_options(console)}};
}

std::string error_text(double relative) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", relative);
  return text;
}

std::string counts_text(const Json& left) {
  std::vector<std::string> texts;
  for (const auto& [reason, count] : left.items()) texts.push_back(concat(count.get<int64_t>(), " ", reason));
  return join(texts, ", ");
}

void log_report(const Json& report, const Log& log) {
  for (const Json& row : report["types"])
    log.info(concat(row["type"].get<std::string>(), ": ", row["tensors"].get<int64_t>(), " tensors, ",
                    bytes_text(row["bytes_before"].get<uint64_t>()), " -> ",
                    bytes_text(row["bytes_after"].get<uint64_t>()), ", relative error added ",
                    error_text(row["relative_error"].get<double>())));
  for (const Json& row : report["copied"])
    log.info(concat("copied: ", row["tensors"].get<int64_t>(), " ", io::printable(row["type"].get<std::string>()),
                    " tensors, ", bytes_text(row["bytes"].get<uint64_t>())));
  for (const Json& row : report["rules"])
    log.info(concat(row["rule"].is_null() ? std::string("--type") : concat("rule ", row["rule"].get<std::string>()),
                    " = ", row["type"].get<std::string>(), ": ", row["matched"].get<int64_t>(), " matched, ",
                    row["converted"].get<int64_t>(), " converted",
                    row["left"].empty() ? "" : concat("; left: ", counts_text(row["left"]))));
  log.info(concat(report["tensors"].get<size_t>(), " tensors, ", bytes_text(report["bytes_before"].get<uint64_t>()),
                  " -> ", bytes_text(report["bytes_after"].get<uint64_t>())));
}

}  // namespace

Status run_convert(std::span<const std::string> args, Console& console) {
  Options options;
  VENEER_TRY(help, parse_options(option_table(options, console.options()), args));
  if (!help.empty()) return write_stdout(help);
  VENEER_TRY(rules, options.types.parse());
  pipeline::ConvertOptions& convert = options.convert;
  convert.rules = std::move(rules);
  if (!convert.paths.model.empty()) convert.paths.model = model_named(convert.paths.model, data_dir());

  pipeline::CancelFlag cancel;
  const InterruptGuard guard(cancel);
  Json report;
  {
    Progress progress(console);
    VENEER_TRY(
        done,
        pipeline::convert(
            convert, console.log(),
            [&progress](uint64_t bytes, uint64_t total) { progress.update_bytes("convert", bytes, total); }, cancel));
    report = std::move(done);
  }
  if (console.options().json) return write_json(report);
  log_report(report, console.log());
  return write_stdout(convert.output.string() + "\n");
}

}  // namespace veneer::cli
