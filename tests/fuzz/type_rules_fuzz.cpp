// Any text as the type for all (first line), the rules (second line) and names of tensors (the others): parsing answers
// with rules or an error, and what they decide is consistent. Long texts are cut: a pattern is as long as a command
// line, not as long as a file.
#include <algorithm>

#include "io/type_rules.h"

using veneer::Shape;
using veneer::io::TypeRules;

namespace {

constexpr size_t kLongest = 256;

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, std::min(end, kLongest));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void decide(const TypeRules& rules, std::string_view name, const Shape& shape) {
  veneer::io::Entry entry;
  entry.type_name = "F16";
  entry.weight.codec = veneer::codec::find_codec("f16");
  entry.weight.shape = shape;
  const TypeRules::Decision decision = rules.decide(name, entry);
  VENEER_CHECK(decision.rule >= TypeRules::kNoMatch && decision.rule < static_cast<int>(rules.rules().size()));
  if (!decision.converts()) {
    VENEER_CHECK(!veneer::io::words_for(decision.keep).empty());
  } else {
    VENEER_CHECK(!veneer::codec::stored_tensors(decision.type.form, shape).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view type = take_line(text);
  const auto rules = TypeRules::parse(type, take_line(text));
  if (!rules) {
    VENEER_CHECK(!rules.error().message.empty());
    return 0;
  }
  for (int i = 0; i < 8 && !text.empty(); ++i) {
    const std::string_view name = take_line(text);
    for (const Shape& shape : {Shape{64}, Shape{8, 256}, Shape{4, 5}, Shape{8, 4, 3, 3}}) decide(*rules, name, shape);
  }
  return 0;
}
