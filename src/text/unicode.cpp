// Unicode by way of utf8proc.
#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <vector>

#include "core/format.h"

namespace veneer::text {
namespace {

constexpr char32_t kCapitalDottedI = 0x130;  // the only character whose full lower-case mapping has two characters
constexpr char32_t kCombiningDotAbove = 0x307;
constexpr auto kComposition = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

struct Decoded {
  char32_t character = 0;
  size_t bytes = 0;  // 0 when no valid character starts here
};

Decoded decode(std::string_view text, size_t position) {
  utf8proc_int32_t code = -1;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + position,
                                      static_cast<utf8proc_ssize_t>(text.size() - position), &code);
  if (bytes <= 0 || code < 0) return {};
  return {static_cast<char32_t>(code), static_cast<size_t>(bytes)};
}

utf8proc_category_t category_of(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

char32_t simple_lower(char32_t character) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character)));
}

bool is_word_character(char32_t character) { return character == '_' || is_letter(character) || is_number(character); }

void append_decomposition(char32_t character, std::vector<utf8proc_int32_t>& codes) {
  utf8proc_int32_t buffer[8];  // canonical decompositions have at most four characters
  int unused_boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character), buffer, std::size(buffer),
                                             kComposition, &unused_boundary);
  VENEER_CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(std::size(buffer)));
  codes.insert(codes.end(), buffer, buffer + count);
}

// Brings each run of combining marks into the order of their classes. utf8proc_decompose would do so by exchanging
// neighbours, which takes seconds for a prompt full of marks.
void sort_marks(std::vector<utf8proc_int32_t>& codes) {
  const auto mark_class = [](utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; };
  const auto is_mark = [&](utf8proc_int32_t code) { return mark_class(code) != 0; };
  for (auto begin = codes.begin(); begin != codes.end();) {
    begin = std::find_if(begin, codes.end(), is_mark);
    const auto end = std::find_if_not(begin, codes.end(), is_mark);
    std::stable_sort(begin, end, [&](auto a, auto b) { return mark_class(a) < mark_class(b); });
    begin = end;
  }
}

size_t start_of_previous_character(std::string_view text, size_t position) {
  do --position;
  while (position > 0 && (static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
  return position;
}

}  // namespace

Status check_text(std::string_view text, std::string_view name) {
  if (text.size() > kMaxTextBytes)
    return Error{ErrorCode::kUsage,
                 concat(name, ": has ", text.size(), " bytes, at most ", kMaxTextBytes, " are accepted; shorten it"),
                 std::string(name)};
  for (size_t position = 0; position < text.size();) {
    const Decoded decoded = decode(text, position);
    if (decoded.bytes == 0) {
      std::ostringstream byte;
      byte << std::hex << std::uppercase << std::setw(2) << std::setfill('0')
           << static_cast<unsigned>(static_cast<unsigned char>(text[position]));
      return Error{
          ErrorCode::kUsage,
          concat(name, ": byte ", position, " (0x", byte.str(), ") starts no valid UTF-8 character; pass UTF-8 text"),
          std::string(name)};
    }
    position += decoded.bytes;
  }
  return {};
}

std::u32string to_nfc(std::string_view text) {
  std::vector<utf8proc_int32_t> codes;
  for (size_t position = 0; position < text.size();) {
    const Decoded decoded = decode(text, position);
    VENEER_CHECK(decoded.bytes > 0);
    append_decomposition(decoded.character, codes);
    position += decoded.bytes;
  }
  sort_marks(codes);
  const auto composed =
      utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), kComposition);
  VENEER_CHECK(composed >= 0);
  return std::u32string(codes.begin(), codes.begin() + composed);
}

void append_lower(char32_t character, std::u32string& out) {
  if (character == kCapitalDottedI) {
    out += U'i';
    out += kCombiningDotAbove;
  } else {
    out += simple_lower(character);
  }
}

void append_utf8(char32_t character, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

bool is_letter(char32_t character) {
  const auto category = category_of(character);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_number(char32_t character) {
  const auto category = category_of(character);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_white_space(char32_t character) {
  if (character >= 0x09 && character <= 0x0D) return true;
  if (character == 0x85) return true;
  const auto category = category_of(character);
  return category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP;
}

bool is_word_border(std::string_view text, size_t position) {
  if (position == 0 || position >= text.size()) return true;
  const Decoded before = decode(text, start_of_previous_character(text, position));
  return !(is_word_character(before.character) && is_word_character(decode(text, position).character));
}

size_t prefix_ignoring_case(std::string_view text, std::string_view word) {
  size_t in_text = 0;
  for (size_t in_word = 0; in_word < word.size();) {
    if (in_text == text.size()) return 0;
    const Decoded ours = decode(text, in_text);
    const Decoded wanted = decode(word, in_word);
    if (ours.bytes == 0 || simple_lower(ours.character) != simple_lower(wanted.character)) return 0;
    in_text += ours.bytes;
    in_word += wanted.bytes;
  }
  return in_text;
}

}  // namespace veneer::text
