// The weight grammar of prompts, as the Stable Diffusion web UI of AUTOMATIC1111 defines it.
// Knows no tokenizer; adapter tags have been taken out before (adapter_tags.h).
//
//   (text)       weight x 1.1, nests            [text]   weight / 1.1, nests
//   (text:1.3)   weight x 1.3; the number is signed decimal digits with at most one point, no exponent
//   \( \) \[ \] \\   the character itself; before any other character a backslash vanishes
//   BREAK        as a whole word in upper case: the rest starts in a new chunk; blanks around it vanish
//   An open bracket without its partner closes at the end; a closing one without partner is text, and so is ":1.3)".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::text {

struct PromptPiece {
  std::string text;
  double weight = 1.0;
  bool operator==(const PromptPiece&) const = default;
};

// The pieces between two BREAKs: none is empty, neighbours differ in weight, no blank lies next to a BREAK.
using PromptSection = std::vector<PromptPiece>;

// At least one section; one BREAK separates two.
using Prompt = std::vector<PromptSection>;

// Weights are kept within +-kMaxPromptWeight, so that nested brackets stay finite numbers.
inline constexpr double kMaxPromptWeight = 1e6;

// Any text that passes check_text (unicode.h) is a prompt. Errors: those of check_text, with `name` as the place.
Result<Prompt> parse_prompt(std::string_view text, std::string_view name = "prompt");

// The normal form: parse_prompt(print_prompt(p)) gives p back for every parsed p.
std::string print_prompt(const Prompt& prompt);

}  // namespace veneer::text
