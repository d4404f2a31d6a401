// JSON reading. The strict checks run as a SAX pass in front of the ordinary parser.
#include "core/json.h"

#include <set>

#include "core/format.h"

namespace veneer {
namespace {

constexpr size_t kMaxDepth = 200;
// Members of one object. An object that keeps the order of its keys is searched from front to back, so that a hostile
// text of many small members would take its time squared; no file read here has more than a few thousand.
constexpr size_t kMaxMembers = 16384;

// Watches for duplicate keys and depth; builds nothing.
class StrictPass : public nlohmann::json_sax<Json> {
 public:
  std::string problem;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (keys_.back().size() == kMaxMembers) {
      problem = concat("has an object of more than ", kMaxMembers, " members");
      return false;
    }
    if (keys_.back().insert(name).second) return true;
    problem = concat("the key \"", name, "\" occurs twice in one object");
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    problem = concat("is not valid JSON at byte ", position, " (", reason(error.what()), ")");
    return false;
  }

 private:
  bool enter() {
    keys_.emplace_back();
    if (keys_.size() <= kMaxDepth) return true;
    problem = concat("is nested deeper than ", kMaxDepth, " levels");
    return false;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }
  // The library's text is "[json.exception.parse_error.101] parse error at line 1, column 1: <reason>".
  static std::string reason(std::string_view what) {
    const size_t colon = what.find(": ");
    return std::string(colon == std::string_view::npos ? what : what.substr(colon + 2));
  }
  std::vector<std::set<std::string>> keys_;
};

Error type_error(std::string_view name, const char* key, std::string_view expected, const Json& found) {
  return {ErrorCode::kBadFile,
          concat(name, ": \"", key, "\" must be ", expected, ", found ",
                 found.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60)),
          std::string(name)};
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

Result<Json> parse_json(std::string_view json, std::string_view name) {
  // The library takes a zero byte for the end of the text.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos)
    return Error{ErrorCode::kBadFile, concat(name, ": is not valid JSON at byte ", zero, " (a zero byte)"),
                 std::string(name)};
  StrictPass strict;
  if (!Json::sax_parse(json.begin(), json.end(), &strict))
    return Error{ErrorCode::kBadFile, concat(name, ": ", strict.problem), std::string(name)};
  return Json::parse(json.begin(), json.end());
}

Result<int64_t> json_integer(const Json& object, const char* key, int64_t fallback, std::string_view name) {
  const Json* value = member(object, key);
  if (!value) return fallback;
  if (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return type_error(name, key, "an integer in the 64-bit range", *value);
  if (!value->is_number_integer()) return type_error(name, key, "an integer", *value);
  return value->get<int64_t>();
}

Result<double> json_number(const Json& object, const char* key, double fallback, std::string_view name) {
  const Json* value = member(object, key);
  if (!value) return fallback;
  if (!value->is_number()) return type_error(name, key, "a number", *value);
  return value->get<double>();
}

Result<bool> json_bool(const Json& object, const char* key, bool fallback, std::string_view name) {
  const Json* value = member(object, key);
  if (!value) return fallback;
  if (!value->is_boolean()) return type_error(name, key, "true or false", *value);
  return value->get<bool>();
}

Result<std::string> json_string(const Json& object, const char* key, std::string_view fallback, std::string_view name) {
  const Json* value = member(object, key);
  if (!value) return std::string(fallback);
  if (!value->is_string()) return type_error(name, key, "a string", *value);
  return value->get<std::string>();
}

}  // namespace veneer
