// Text plans of PixArt.
#include "model/pixart_text.h"

#include <array>

namespace veneer::model {
namespace {

Condition join_pixart(const JoinInput& input) {
  const EncodedText& text = input.texts[0];
  if (input.denoiser.vector_width() == 0) return {text.states, text.mask, {}};
  const std::array size{static_cast<float>(input.height), static_cast<float>(input.width)};
  return {text.states, text.mask, Tensor::from(size, {1, 2})};
}

constexpr TextUse use_of(int64_t tokens) {
  return {.part = io::Part::kTextEncoder3, .kind = TextKind::kT5, .length = tokens, .masked = true, .lower_case = true};
}
constexpr TextUse kAlphaUses[] = {use_of(120)};
constexpr TextUse kSigmaUses[] = {use_of(300)};

}  // namespace

constexpr TextPlan kPixArtAlphaText{kAlphaUses, join_pixart};
constexpr TextPlan kPixArtSigmaText{kSigmaUses, join_pixart};

}  // namespace veneer::model
