// Small string helpers for messages: g++ 12 has no std::format.
#pragma once

#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace veneer {

// Joins the printed forms of its arguments: concat("expects ", 3, " rows").
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// "[320, 768]"
std::string shape_text(std::span<const int64_t> shape);

// "2.1 GB", "640 MB", "12.5 kB": decimal units, as file managers show them.
std::string bytes_text(uint64_t bytes);

std::string lower_ascii(std::string_view text);
bool contains(std::string_view text, std::string_view part);
std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);

// Reads the whole of `text` as a number; false when anything is left over, out of range or missing.
bool parse_number(std::string_view text, int64_t& value);
bool parse_number(std::string_view text, double& value);

// The candidates closest to `name` by edit distance, best first, at most `count`; for "did you mean" lines.
std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates, size_t count);

}  // namespace veneer
