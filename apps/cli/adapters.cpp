// veneer adapters: which sub-command is meant, and what they share.
#include "adapters.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "adapter_options.h"
#include "commands.h"
#include "core/format.h"
#include "data_dir.h"
#include "results.h"

namespace veneer::cli {
namespace {

constexpr std::array kSubCommands = {
    Command{"list", "Show the adapters in a folder", run_adapters_list},
    Command{"inspect", "Show what an adapter file holds, and whether it fits a model", run_adapters_inspect},
    Command{"check", "Show what becomes of every key and layer, without drawing", run_adapters_check},
    Command{"verify", "Measure what merging would lose, and what drawing with the adapter delivers",
            run_adapters_verify},
    Command{"merge", "Write a new model with adapters worked in", run_adapters_merge},
    Command{"convert", "Write an adapter with the key names of another program", run_adapters_convert},
};

bool takes_value(const OptionTable& table, const std::string& option) {
  for (const OptionGroup& group : table.groups)
    for (const Option& row : group.options)
      if (std::ranges::count(split(row.names, ','), option) > 0) return !row.argument.empty();
  return false;
}

}  // namespace

OptionGroup adapter_files_options(AdapterOptions& options) {
  return {"Adapters (--adapter may be left out)", adapter_options(options.order, options.model.adapter_dir)};
}

Result<std::string> parse_adapter_options(const OptionTable& table, std::span<const std::string> args) {
  std::vector<std::string> named;
  bool is_value = false;  // of the option before
  for (const std::string& arg : args) {
    const bool is_option = !is_value && arg.starts_with('-');
    if (!is_value && !is_option) named.emplace_back("--adapter");
    named.push_back(arg);
    is_value = is_option && takes_value(table, arg);
  }
  return parse_options(table, named);
}

OptionGroup adapter_model_options(AdapterOptions& options) {
  OptionGroup group = model_file_options(options.model.paths);
  group.options.push_back({"-t,--threads", "N", "Processor threads; 0 or less: the number of physical cores",
                           whole(options.model.threads)});
  group.options.push_back(no_mapping_option(options.model.paths));
  return group;
}

Result<std::unique_ptr<pipeline::AdaptedModel>> open_adapted(AdapterOptions& options, std::string_view command,
                                                             Console& console) {
  if (options.order.adapters.empty())
    return Error{ErrorCode::kUsage, concat("adapters ", command, ": expected an adapter file, found none"), "FILE"};
  io::ModelPaths& paths = options.model.paths;
  if (!paths.model.empty())
    paths.model = model_named(paths.model, data_dir());
  else if (paths.denoiser.empty())
    paths.model = embedded_model(data_dir());
  return pipeline::AdaptedModel::open(options.model, console.log());
}

std::string figure_text(const Json& figures, const char* name) {
  if (figures.is_null()) return "-";
  char text[32];
  const double value = figures[name].get<double>();
  std::snprintf(text, sizeof text, value != 0 && value < 0.0005 ? "%.1e" : "%.3f", value);
  return text;
}

Status run_adapters(std::span<const std::string> args, Console& console) {
  if (args.empty() || args.front() == "-h" || args.front() == "--help")
    return write_stdout("Usage: veneer adapters COMMAND [OPTIONS]\n\nCommands:\n" + listing(kSubCommands));
  VENEER_TRY(command, command_in(kSubCommands, "adapters: command", args.front()));
  return command->run(args.subspan(1), console);
}

}  // namespace veneer::cli
