// Runs a program as a shell would, with its outputs captured and a limit on its time.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace veneer::cases {

struct Command {
  std::filesystem::path program;       // absolute, because the program starts in `folder`
  std::vector<std::string> arguments;  // without the program's own name
  std::filesystem::path folder;        // the working directory
  std::chrono::seconds limit{60};      // then the program is killed
  std::string interrupt_after;         // SIGINT is sent once stderr holds this text; never when it is empty
};

struct Outcome {
  int exit_code = 0;  // 128 + the signal, when one ended the program
  bool timed_out = false;
  std::string out, err;
};

// Standard input is empty. Errors: io when the program cannot be started.
Result<Outcome> run_command(const Command& command);

}  // namespace veneer::cases
