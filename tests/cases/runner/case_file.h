// The text of a case: one step a line, words as a shell splits them. Knows nothing of what the steps mean.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::cases {

struct Step {
  int line = 0;                    // counted from 1
  std::vector<std::string> words;  // the first one is the directive; never empty
};

// What ${NAME} stands for.
using Variables = std::map<std::string, std::string, std::less<>>;

// Words are separated by blanks. "..." keeps blanks and knows \" \\ \n and \t; '...' keeps everything as it is; outside
// single quotes ${NAME} is replaced. Empty lines and lines that begin with # are left out.
// Errors: bad_file naming `name` and the line, for an open quote, an unknown escape or an unknown variable.
Result<std::vector<Step>> parse_case(std::string_view text, const Variables& variables, std::string_view name);

}  // namespace veneer::cases
