// Carries out a case: runs the program in a folder of its own and holds what it did against the case's expectations
// (README.md beside this folder lists the steps). Knows nothing of the program but its path.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "case_file.h"

namespace veneer::cases {

struct Setting {
  std::filesystem::path program;  // what `run` runs; absolute
  Variables variables;
  std::chrono::seconds limit{60};  // for each `run`
};

// Each text tells one expectation that did not hold, or why the case could not go on; empty when all went well.
// A step that cannot be carried out (unknown directive, missing file) ends the case.
std::vector<std::string> run_case(std::string_view text, std::string_view name, const Setting& setting);

}  // namespace veneer::cases
