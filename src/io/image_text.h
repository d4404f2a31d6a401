// Text encodings that foreign files use: UTF-8 checked and cleaned, Latin-1, UTF-16. Knows no format.
// Private to the readers and writers of this folder.
#pragma once

#include <string>
#include <string_view>

namespace veneer::io {

// The text as every format can hold it: malformed UTF-8 and characters that XML 1.0 excludes (controls except tab, line
// feed and carriage return; U+FFFE, U+FFFF) become U+FFFD. The identity on its own results.
std::string storable_text(std::string_view text);

// What a file's bytes say: themselves when they are UTF-8, else read as Latin-1, the two that writers of PNG text use.
std::string text_from_bytes(std::string_view bytes);

// Big-endian, no byte order mark. `text` is UTF-8; malformed parts become U+FFFD.
std::string utf16_from_utf8(std::string_view text);
// Lone surrogates become U+FFFD, an odd last byte is dropped. A byte order mark decides the order; without one it is
// the order in which more units are below 256, big-endian in doubt.
std::string utf8_from_utf16(std::string_view bytes);

void append_utf8(std::string& text, char32_t code_point);

}  // namespace veneer::io
