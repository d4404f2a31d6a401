// JSON in and out (nlohmann-json behind it). Objects keep the order in which their keys were written.
// A text with a key twice in one object is refused: readers that keep one of the two disagree on which.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/result.h"

namespace veneer {

using Json = nlohmann::ordered_json;

// Parses a whole text. `name` is the file or field it came from, for the message.
// Errors: bad_file for text that is not UTF-8 or not JSON, nested deeper than 200, with an object of
// more than 16384 members, or with a duplicate key (named).
Result<Json> parse_json(std::string_view text, std::string_view name);

// Typed reading of one member of an object: `fallback` when the member is absent or null.
// Errors: bad_file naming `key` when it has another type (numbers: not an integer, or out of range).
Result<int64_t> json_integer(const Json& object, const char* key, int64_t fallback, std::string_view name);
Result<double> json_number(const Json& object, const char* key, double fallback, std::string_view name);
Result<bool> json_bool(const Json& object, const char* key, bool fallback, std::string_view name);
Result<std::string> json_string(const Json& object, const char* key, std::string_view fallback, std::string_view name);

}  // namespace veneer
