// The list of commands, and which of them a command line means.
#include "commands.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/format.h"
#include "results.h"

namespace veneer::cli {
namespace {

constexpr std::array kCommands = {
    Command{"image", "Draw pictures from text (the default)", run_image},
    Command{"convert", "Write a model in other number formats or another container", run_convert},
    Command{"inspect", "Show what a model, an adapter or another file of tensors holds", run_inspect},
    Command{"adapters", "List, check, measure, merge and rename adapters", run_adapters},
    Command{"bench", "Time the parts of a picture on this machine", run_bench},
    Command{"metadata", "Show the text that a picture carries", run_metadata},
    Command{"version", "Show version, commit and what the processor can do", run_version},
};

constexpr std::string_view kLaterCommands[] = {"upscale"};

// The values of --mode, and the commands they became.
struct Mode {
  std::string_view name;
  std::string_view command;  // empty: not in this version
};
constexpr Mode kModes[] = {{"img_gen", "image"}, {"metadata", "metadata"}, {"convert", "convert"},
                           {"upscale", ""},      {"vid_gen", ""},          {"adetailer", ""}};

Error not_available(std::string_view what, std::string_view name) {
  return {ErrorCode::kUnsupported, concat(what, " ", name, ": this version does not have it yet"), std::string(name)};
}

Error unknown(std::string_view what, std::string_view name, std::span<const std::string> known) {
  return {ErrorCode::kUsage, concat(what, " \"", name, "\": is not known; it is one of ", join(known, ", ")),
          std::string(name)};
}

template <typename Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

Result<const Command*> command_named(std::string_view name) {
  if (std::ranges::count(kLaterCommands, name) > 0) return not_available("command", name);
  return command_in(kCommands, "command", name);
}

// Takes "--mode X" out of `args`. The option is looked for before the command is known, so a text that happens to be
// "--mode" is taken for it.
Result<const Command*> take_mode(std::vector<std::string>& args) {
  const auto option = std::ranges::find_if(args, [](const auto& arg) { return arg == "-M" || arg == "--mode"; });
  if (option == args.end()) return command_named("image");
  if (option + 1 == args.end())
    return Error{ErrorCode::kUsage, "--mode: expected a value after it, found none", "--mode"};
  const std::string name = *(option + 1);
  args.erase(option, option + 2);
  const auto mode = std::ranges::find(kModes, name, &Mode::name);
  if (mode == std::end(kModes)) return unknown("--mode:", name, names_of(kModes));
  if (mode->command.empty()) return not_available("--mode:", name);
  return command_named(mode->command);
}

std::string overview() {
  return concat("Usage: veneer [COMMAND] [OPTIONS]\n\nCommands (veneer COMMAND --help lists the options of each):\n",
                listing(kCommands), "\nWithout a command the options are those of image:\n\n");
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::string listing(std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) {
    std::string name(command.name);
    name.resize(12, ' ');
    text += concat("  ", name, command.help, "\n");
  }
  return text;
}

Result<const Command*> command_in(std::span<const Command> commands, std::string_view what, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end()) return &*found;
  return unknown(what, name, names_of(commands));
}

Status run_command_line(std::span<const std::string> args, Console& console) {
  const std::string first = args.empty() ? std::string() : args.front();
  if (first == "--version") return run_version(args.subspan(1), console);
  if (first == "-h" || first == "--help") {
    VENEER_TRY_STATUS(write_stdout(overview()));
    return run_image(args, console);
  }
  if (!first.empty() && !first.starts_with('-')) {
    VENEER_TRY(command, command_named(first));
    return command->run(args.subspan(1), console);
  }
  std::vector<std::string> rest(args.begin(), args.end());
  VENEER_TRY(command, take_mode(rest));
  return command->run(rest, console);
}

}  // namespace veneer::cli
