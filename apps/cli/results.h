// stdout: what a command was asked for, and nothing else.
#pragma once

#include <string_view>

#include "core/json.h"

namespace veneer::cli {

// Writes and flushes at once, so that a reader at the other end of a pipe has each result as soon as it exists.
// Errors: io (a closed pipe, a full disk).
Status write_stdout(std::string_view bytes);
// One object and a newline. Text that is not UTF-8 is shown with U+FFFD.
Status write_json(const Json& json);

}  // namespace veneer::cli
