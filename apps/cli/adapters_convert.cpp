// veneer adapters convert: an adapter with the key names of another program.
#include "adapters.h"
#include "core/format.h"
#include "io/printable.h"
#include "pipeline/respell_file.h"
#include "results.h"

namespace veneer::cli {
namespace {

std::string as_text(const Json& report) {
  std::string text = concat(report["keys"].get<size_t>(), " keys written to ",
                            io::printable(report["output"].get<std::string>(), 4096), "; read back, the terms of all ",
                            report["layers"].get<size_t>(), " layers are the same, bit for bit\n");
  if (!report["config"].is_null())
    text += concat("its scales are in ", io::printable(report["config"].get<std::string>(), 4096), "\n");
  return text;
}

}  // namespace

Status run_adapters_convert(std::span<const std::string> args, Console& console) {
  AdapterOptions options;
  std::filesystem::path output;
  std::string style_name;
  const OptionTable table{"veneer adapters convert FILE",
                          "Writes an adapter with the key names of another program, and proves that it means the same.",
                          {adapter_files_options(options),
                           {"Output",
                            {{"-o,--output", "FILE", "File to write, .safetensors", path(output)},
                             {"--to", "STYLE", "Names of kohya, diffusers, peft or comfy", text(style_name)}}},
                           adapter_model_options(options),
                           general_options(console.options())}};
  VENEER_TRY(help, parse_adapter_options(table, args));
  if (!help.empty()) return write_stdout(help);
  const auto style = adapt::key_style_from(style_name);
  if (!style)
    return Error{ErrorCode::kUsage,
                 concat("--to: expected kohya, diffusers, peft or comfy, found \"", style_name, "\""), "--to"};
  if (output.empty())
    return Error{ErrorCode::kUsage, "adapters convert: expected a name after -o, found none", "--output"};
  if (options.order.adapters.size() != 1)
    return Error{ErrorCode::kUsage,
                 concat("adapters convert: expected one adapter file, found ", options.order.adapters.size()), "FILE"};
  VENEER_TRY(model, open_adapted(options, "convert", console));
  VENEER_TRY(report, pipeline::respell_file(*model, options.order.adapters.front().name, output, *style));
  return console.options().json ? write_json(report) : write_stdout(as_text(report));
}

}  // namespace veneer::cli
