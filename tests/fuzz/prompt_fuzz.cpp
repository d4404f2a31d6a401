// Any bytes as a prompt: adapter tags, the weight grammar, and that a prompt's normal form reads back as the same
// prompt.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/adapter_tags.h"
#include "text/prompt.h"
#include "text/unicode.h"

namespace {

using namespace veneer::text;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_round_trip(std::string_view text) {
  const auto prompt = parse_prompt(text);
  if (!prompt) return;
  const auto printed = print_prompt(*prompt);
  if (printed.size() > kMaxTextBytes) return;  // escapes made it longer than a prompt may be
  const auto again = parse_prompt(printed);
  require(again.has_value());
  require(*again == *prompt);
  require(print_prompt(*again) == printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_round_trip(text);
  const TaggedPrompt dropped = drop_adapter_tags(text);
  if (const auto taken = take_adapter_tags(text)) {
    require(taken->text == dropped.text);
    require(taken->adapters.size() + taken->warnings.size() == dropped.warnings.size());
    check_round_trip(taken->text);
  }
  if (const auto request = parse_adapter_option(text)) require(!request->name.empty());
  return 0;
}
