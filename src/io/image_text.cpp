// UTF-8 and UTF-16 after the Unicode Standard, chapter 3.9.
#include "io/image_text.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace veneer::io {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_surrogate(char32_t c) { return c >= 0xD800 && c < 0xE000; }

// The code point at text[at], moving `at` past it; empty, and past one byte, where the text is not UTF-8.
std::optional<char32_t> take_utf8(std::string_view text, size_t& at) {
  const auto first = static_cast<uint8_t>(text[at++]);
  if (first < 0x80) return first;
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < more) return std::nullopt;
  char32_t code_point = first & (0x3Fu >> more);
  for (size_t i = 0; i < more; ++i) {
    const auto next = static_cast<uint8_t>(text[at + i]);
    if ((next & 0xC0u) != 0x80u) return std::nullopt;
    code_point = code_point << 6 | (next & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0x80, 0x800, 0x10000};  // below it the form is longer than need be
  if (code_point < kSmallest[more - 1] || code_point > 0x10FFFF || is_surrogate(code_point)) return std::nullopt;
  at += more;
  return code_point;
}

bool is_storable(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c != 0xFFFE && c != 0xFFFF;
}

char32_t unit_at(std::string_view bytes, size_t at, bool big_endian) {
  const auto first = static_cast<uint8_t>(bytes[at]);
  const auto second = static_cast<uint8_t>(bytes[at + 1]);
  return static_cast<char32_t>(big_endian ? first << 8 | second : second << 8 | first);
}

// Writers disagree whether UserComment follows the byte order of the file around it, so the text itself is asked.
bool looks_big_endian(std::string_view bytes) {
  size_t high_first = 0;
  size_t high_second = 0;
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    high_first += bytes[at] == 0;
    high_second += bytes[at + 1] == 0;
  }
  return high_first >= high_second;
}

}  // namespace

void append_utf8(std::string& text, char32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80u | (c >> shift & 0x3Fu)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += {static_cast<char>(0xC0u | c >> 6), tail(0)};
  } else if (c < 0x10000) {
    text += {static_cast<char>(0xE0u | c >> 12), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xF0u | c >> 18), tail(12), tail(6), tail(0)};
  }
}

std::string storable_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char32_t c = take_utf8(text, at).value_or(kReplacement);
    append_utf8(out, is_storable(c) ? c : kReplacement);
  }
  return out;
}

std::string text_from_bytes(std::string_view bytes) {
  bool is_utf8 = true;
  for (size_t at = 0; is_utf8 && at < bytes.size();) is_utf8 = take_utf8(bytes, at).has_value();
  if (is_utf8) return std::string(bytes);
  std::string out;
  for (const char byte : bytes) append_utf8(out, static_cast<uint8_t>(byte));
  return out;
}

std::string utf16_from_utf8(std::string_view text) {
  std::string out;
  const auto put = [&out](char32_t unit) { out += {static_cast<char>(unit >> 8), static_cast<char>(unit & 0xFF)}; };
  for (size_t at = 0; at < text.size();) {
    const char32_t c = take_utf8(text, at).value_or(kReplacement);
    if (c < 0x10000) {
      put(c);
    } else {
      put(0xD800 + ((c - 0x10000) >> 10));
      put(0xDC00 + (c & 0x3FF));
    }
  }
  return out;
}

std::string utf8_from_utf16(std::string_view bytes) {
  bool big_endian = looks_big_endian(bytes);
  if (bytes.starts_with("\xFE\xFF") || bytes.starts_with("\xFF\xFE")) {
    big_endian = bytes[0] == '\xFE';
    bytes.remove_prefix(2);
  }
  std::string out;
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    char32_t c = unit_at(bytes, at, big_endian);
    if (c >= 0xD800 && c < 0xDC00 && at + 3 < bytes.size()) {
      const char32_t low = unit_at(bytes, at + 2, big_endian);
      if (low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        at += 2;
      }
    }
    append_utf8(out, is_surrogate(c) ? kReplacement : c);
  }
  return out;
}

}  // namespace veneer::io
