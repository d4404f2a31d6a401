// Splits the lines of a case into words.
#include "case_file.h"

#include <optional>

#include "core/format.h"

namespace veneer::cases {
namespace {

class LineReader {
 public:
  LineReader(std::string_view line, const Variables& variables) : line_(line), variables_(variables) {}

  // Errors: the message alone; the caller adds the place.
  Result<std::vector<std::string>> words() {
    std::vector<std::string> found;
    while (skip_blanks()) {
      VENEER_TRY(word, next_word());
      found.push_back(std::move(word));
    }
    return found;
  }

 private:
  static Error fault(std::string message) { return {ErrorCode::kBadFile, std::move(message), {}}; }

  bool skip_blanks() {
    while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
    return at_ < line_.size();
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  Result<std::string> next_word() {
    std::string word;
    char quote = 0;  // the kind of quotes we are in, or 0
    for (; at_ < line_.size() && (quote != 0 || !is_blank(line_[at_])); ++at_) {
      const char c = line_[at_];
      if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == quote) {
        quote = 0;
      } else if (quote != '\'' && c == '$' && line_.substr(at_).starts_with("${")) {
        VENEER_TRY(value, variable());
        word += value;
      } else if (quote == '"' && c == '\\') {
        VENEER_TRY(escaped, escape());
        word += escaped;
      } else {
        word += c;
      }
    }
    if (quote != 0) return fault("a quote is not closed");
    return word;
  }

  // At "${"; ends at the closing brace.
  Result<std::string> variable() {
    const size_t end = line_.find('}', at_);
    if (end == std::string_view::npos) return fault("${ without }");
    const std::string_view name = line_.substr(at_ + 2, end - at_ - 2);
    const auto value = variables_.find(name);
    if (value == variables_.end()) return fault(concat("there is no variable ", name));
    at_ = end;
    return value->second;
  }

  // At a backslash; ends at the character after it.
  Result<char> escape() {
    const char c = ++at_ < line_.size() ? line_[at_] : '\0';
    if (c == '"' || c == '\\') return c;
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    return fault("only \\\" \\\\ \\n and \\t are known after a backslash");
  }

  std::string_view line_;
  const Variables& variables_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<Step>> parse_case(std::string_view text, const Variables& variables, std::string_view name) {
  std::vector<Step> steps;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).starts_with('#')) continue;
    auto words = LineReader(line, variables).words();
    if (!words) return Error{ErrorCode::kBadFile, concat(name, ":", number, ": ", words.error().message), {}};
    if (!words->empty()) steps.push_back({number, *std::move(words)});
  }
  return steps;
}

}  // namespace veneer::cases
