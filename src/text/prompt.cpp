// Reading and writing of weighted prompts.
#include "text/prompt.h"

#include <algorithm>
#include <charconv>

#include "core/format.h"
#include "text/unicode.h"

namespace veneer::text {
namespace {

constexpr double kRoundFactor = 1.1;
constexpr double kSquareFactor = 1 / 1.1;
constexpr std::string_view kBreak = "BREAK";
constexpr std::string_view kEscapable = "\\()[]";
constexpr std::string_view kSpecial = "\\()[]:";
constexpr std::string_view kBlanks = " \t\n\v\f\r";
constexpr std::string_view kNumber = ".0123456789";

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

size_t skip_blanks(std::string_view text, size_t position) {
  return std::min(text.find_first_not_of(kBlanks, position), text.size());
}

// The closing ":1.3)" at the start of a text; `length` is 0 when there is none.
struct WeightedClose {
  double factor = 1.0;
  size_t length = 0;
};

WeightedClose weighted_close(std::string_view text) {
  if (!text.starts_with(':')) return {};
  const size_t begin = skip_blanks(text, 1);
  size_t end = begin;
  if (end < text.size() && is_one_of(text[end], "+-")) ++end;
  while (end < text.size() && is_one_of(text[end], kNumber)) ++end;
  WeightedClose close;
  const size_t bracket = skip_blanks(text, end);
  if (bracket == text.size() || text[bracket] != ')') return {};
  if (!parse_number(text.substr(begin, end - begin), close.factor)) return {};
  close.length = bracket + 1;
  return close;
}

class PromptParser {
 public:
  explicit PromptParser(std::string_view text) : rest_(text) {}

  Prompt parse() && {
    while (!rest_.empty()) step();
    for (const size_t start : round_) scale_from(start, kRoundFactor);
    for (const size_t start : square_) scale_from(start, kSquareFactor);
    return tidy();
  }

 private:
  // A piece of the text as it is read, or a BREAK between two.
  struct Item {
    PromptPiece piece;
    bool is_break = false;
  };

  void step() {
    const char c = rest_[0];
    if (c == '\\') {
      const bool escapes = rest_.size() > 1 && is_one_of(rest_[1], kEscapable);
      add_text(rest_.substr(1, escapes ? 1 : 0));
      rest_.remove_prefix(escapes ? 2 : 1);
    } else if (c == '(' || c == '[') {
      (c == '(' ? round_ : square_).push_back(items_.size());
      rest_.remove_prefix(1);
    } else if (const auto close = weighted_close(rest_); close.length > 0 && !round_.empty()) {
      close_bracket(round_, close.factor, close.length);
    } else if (c == ')' && !round_.empty()) {
      close_bracket(round_, kRoundFactor, 1);
    } else if (c == ']' && !square_.empty()) {
      close_bracket(square_, kSquareFactor, 1);
    } else {
      const size_t length = std::min(rest_.find_first_of(kSpecial, 1), rest_.size());
      add_words(rest_.substr(0, is_one_of(c, kSpecial) ? 1 : length));
    }
  }

  void close_bracket(std::vector<size_t>& open, double factor, size_t length) {
    scale_from(open.back(), factor);
    open.pop_back();
    rest_.remove_prefix(length);
  }

  void scale_from(size_t start, double factor) {
    for (size_t i = start; i < items_.size(); ++i) {
      double& weight = items_[i].piece.weight;
      weight = std::clamp(weight * factor, -kMaxPromptWeight, kMaxPromptWeight);
    }
  }

  // Takes `words` off the rest and cuts them at each BREAK. A BREAK never reaches across a bracket, colon or escape.
  void add_words(std::string_view words) {
    rest_.remove_prefix(words.size());
    size_t start = 0;
    for (size_t found = words.find(kBreak); found != std::string_view::npos; found = words.find(kBreak, found + 1)) {
      const size_t end = found + kBreak.size();
      if (!is_word_border(words, found) || !is_word_border(words, end)) continue;
      add_text(words.substr(start, found - start));
      items_.push_back({{}, true});
      start = end;
    }
    add_text(words.substr(start));
  }

  void add_text(std::string_view text) {
    if (!text.empty()) items_.push_back({{std::string(text), 1.0}, false});
  }

  Prompt tidy() const {
    Prompt prompt(1);
    for (const Item& item : items_) {
      PromptSection& section = prompt.back();
      if (item.is_break) {
        trim_end(section);
        prompt.emplace_back();
        continue;
      }
      std::string_view text = item.piece.text;
      if (prompt.size() > 1 && section.empty()) text.remove_prefix(skip_blanks(text, 0));
      if (text.empty()) continue;
      if (!section.empty() && section.back().weight == item.piece.weight)
        section.back().text += text;
      else
        section.push_back({std::string(text), item.piece.weight});
    }
    return prompt;
  }

  static void trim_end(PromptSection& section) {
    while (!section.empty()) {
      std::string& text = section.back().text;
      text.erase(text.find_last_not_of(kBlanks) + 1);
      if (!text.empty()) return;
      section.pop_back();
    }
  }

  std::string_view rest_;
  std::vector<Item> items_;
  std::vector<size_t> round_, square_;  // open brackets: the item each begins with
};

// Escapes what the parser would take for grammar. A backslash before a letter vanishes, which keeps a literal BREAK.
std::string escape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_one_of(text[i], kEscapable)) out += '\\';
    out += text[i];
    const bool is_break =
        text.substr(i).starts_with(kBreak) && is_word_border(text, i) && is_word_border(text, i + kBreak.size());
    if (is_break) out += '\\';
  }
  return out;
}

// Decimal digits without an exponent, as many as give the same double back.
std::string weight_text(double weight) {
  char digits[512];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, weight, std::chars_format::fixed);
  VENEER_CHECK(error == std::errc());
  return std::string(digits, end);
}

}  // namespace

Result<Prompt> parse_prompt(std::string_view text, std::string_view name) {
  VENEER_TRY_STATUS(check_text(text, name));
  return PromptParser(text).parse();
}

std::string print_prompt(const Prompt& prompt) {
  std::string out;
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (i > 0) out.append(" ").append(kBreak).append(" ");
    for (const PromptPiece& piece : prompt[i]) {
      const std::string text = escape(piece.text);
      out += piece.weight == 1.0 ? text : concat("(", text, ":", weight_text(piece.weight), ")");
    }
  }
  return out;
}

}  // namespace veneer::text
