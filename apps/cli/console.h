// Everything that goes to stderr: log lines, and the one line of progress that a terminal keeps below them. stdout is
// not touched here: it carries results only. Any thread may call.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

#include "core/log.h"

namespace veneer::cli {

// The options that every command has.
struct ConsoleOptions {
  bool json = false;     // one JSON object on stdout, success or failure
  bool verbose = false;  // debug lines too
  bool quiet = false;    // warnings and errors only, no progress
  bool color = false;    // coloured tags
};

class Console {
 public:
  // `stream` is borrowed. `terminal`: a bar may be drawn on it. `may_color` is false where the user's NO_COLOR forbids
  // it.
  Console(std::FILE* stream, bool terminal, bool may_color)
      : stream_(stream), terminal_(terminal), may_color_(may_color) {}

  ConsoleOptions& options() { return options_; }
  const ConsoleOptions& options() const { return options_; }
  bool terminal() const { return terminal_; }

  // A sink for the library; this console must outlive it.
  Log log();
  void write(LogLevel level, std::string_view text);  // "[INFO ] text"
  void write_plain(std::string_view text);            // without tag, whatever the options

  // Puts `text` into the bottom line in place of what stands there; for terminals only.
  void show_status(std::string_view text);
  // What stands in the bottom line stays; what follows goes below it.
  void end_status();

 private:
  void put_line(std::string_view text);  // above the status line

  std::FILE* stream_;
  bool terminal_;
  bool may_color_;
  ConsoleOptions options_;
  std::mutex mutex_;
  std::string status_;
};

// Control characters except tab and line feed as "\x1b": names out of files must not steer a terminal.
std::string harmless(std::string_view text);

}  // namespace veneer::cli
