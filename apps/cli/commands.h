// The commands of the program. A new one is a file with its `run` and a row in commands.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "console.h"
#include "core/result.h"

namespace veneer::cli {

struct Command {
  std::string_view name;
  std::string_view help;
  // `args` are those after the command's name. Results go to stdout; an error is reported by the caller.
  Status (*run)(std::span<const std::string> args, Console& console);
};

std::span<const Command> commands();

// Each command with its help, a line each.
std::string listing(std::span<const Command> commands);
// Errors: usage naming those that are known; `what` comes first.
Result<const Command*> command_in(std::span<const Command> commands, std::string_view what, std::string_view name);

Status run_image(std::span<const std::string> args, Console& console);
Status run_adapters(std::span<const std::string> args, Console& console);
Status run_bench(std::span<const std::string> args, Console& console);
Status run_convert(std::span<const std::string> args, Console& console);
Status run_inspect(std::span<const std::string> args, Console& console);
Status run_metadata(std::span<const std::string> args, Console& console);
Status run_version(std::span<const std::string> args, Console& console);

// Finds the command in a whole command line (image when none is named, `--mode` as the older spelling) and runs it.
// Errors: usage (no such command), unsupported (one that this version does not have), and the command's own.
Status run_command_line(std::span<const std::string> args, Console& console);

}  // namespace veneer::cli
