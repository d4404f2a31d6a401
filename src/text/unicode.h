// The Unicode facts that tokenizers and the prompt grammar need: decoding, normalisation, case and character classes.
// utf8proc stays behind this header. Knows no vocabulary and no grammar.
//
// Every function but check_text expects text that passed check_text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace veneer::text {

// The longest text accepted: far above any prompt. It bounds what is quadratic, the nested brackets of a prompt.
inline constexpr size_t kMaxTextBytes = 32768;

// Errors: usage, when the text is longer than kMaxTextBytes or not UTF-8; then with the position of the first byte that
// cannot begin a character. Surrogates, overlong forms and code points above U+10FFFF are refused as well; NUL is an
// ordinary character. `name` says what text it is ("prompt").
Status check_text(std::string_view text, std::string_view name);

// Canonical composition (NFC) of the text, as code points.
std::u32string to_nfc(std::string_view text);

// Appends the full lower-case mapping of one character, which ignores its neighbours: capital sigma always becomes the
// middle sigma, and U+0130 becomes two characters (i and a combining dot above).
void append_lower(char32_t character, std::u32string& out);

void append_utf8(char32_t character, std::string& out);

bool is_letter(char32_t character);       // general category L; combining marks are not letters
bool is_number(char32_t character);       // general category N: digits, but also fractions and Roman numerals
bool is_white_space(char32_t character);  // property White_Space: U+0085 and U+3000 are in, U+200B and U+001C are not

// Whether a word can begin or end at this byte position: not both neighbours are letters, numbers or underscores.
bool is_word_border(std::string_view text, size_t position);

// The number of bytes at the start of `text` that equal `word` when case is ignored; 0 if they differ.
size_t prefix_ignoring_case(std::string_view text, std::string_view word);

}  // namespace veneer::text
