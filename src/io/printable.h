// Text out of a file, made fit for a message: a hostile name must not fill the screen or send codes to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace veneer::io {

// At most `limit` bytes of `text` (then "..."), control characters escaped as in JSON, bad UTF-8 replaced by U+FFFD.
std::string printable(std::string_view text, size_t limit = 120);

}  // namespace veneer::io
