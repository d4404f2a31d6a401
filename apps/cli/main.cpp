// The program: arguments in, exit code out. Everything that goes wrong ends here as one line on stderr and, with
// --json, one object on stdout; an exception is a defect of ours and never an abort.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <new>
#include <vector>

#include "commands.h"
#include "core/format.h"
#include "heap.h"
#include "interrupt.h"
#include "results.h"
#include "spinning.h"

namespace veneer::cli {
namespace {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage: return 2;
    case ErrorCode::kCancelled: return kExitCancelled;
    default: return 1;
  }
}

Status run_guarded(std::span<const std::string> args, Console& console) {
  try {
    return run_command_line(args, console);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kNoMemory, "memory: an allocation failed; use a smaller picture or --vae-tiling", {}};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kBug, concat("internal error: ", error.what(), "; please report it"), {}};
  } catch (...) {
    return Error{ErrorCode::kBug, "internal error: an unknown exception; please report it", {}};
  }
}

int report(const Error& error, bool json, Console& console) {
  console.end_status();
  console.write(LogLevel::kError, error.message);
  if (error.code == ErrorCode::kUsage)
    console.write_plain(
        "usage: veneer [image|convert|inspect|metadata|version] [OPTIONS]; veneer COMMAND --help lists them");
  int code = exit_code(error.code);
  if (json) {
    const Json object = {{"code", name_of(error.code)}, {"message", error.message}, {"where", error.where}};
    if (!write_json({{"error", object}})) code = 1;
  }
  return code;
}

bool may_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

int run(std::span<const std::string> args) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of write(), not the end of the process
  Console console(stderr, ::isatty(STDERR_FILENO) == 1, may_color());
  const Status status = run_guarded(args, console);
  if (status) return 0;
  // A command line that was refused may have been refused before its --json was seen.
  const bool json = console.options().json || std::ranges::count(args, "--json") > 0;
  return report(status.error(), json, console);
}

}  // namespace
}  // namespace veneer::cli

int main(int argc, char** argv) {
  veneer::cli::limit_spinning(argv);
  veneer::cli::return_large_blocks();
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return veneer::cli::run(args);
}
