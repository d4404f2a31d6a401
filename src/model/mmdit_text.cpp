// Text plans of SD3 and FLUX.1.
#include "model/mmdit_text.h"

#include <algorithm>

namespace veneer::model {
namespace {

using io::Part;

constexpr int32_t kOpenClipPad = 0;
constexpr int64_t kClipTokens = 77, kSd3T5Tokens = 77, kFluxT5Tokens = 256;

// What an encoder gave, or zeros of that size.
Tensor or_zeros(const Tensor& given, int64_t tokens, int64_t width) {
  return given.empty() ? Tensor::zeros({1, tokens, std::max<int64_t>(width, 0)}) : given;
}

int64_t tokens_of(const EncodedText& text) { return text.states.empty() ? kClipTokens : text.states.shape[1]; }
int64_t width_of(const Tensor& pooled) { return pooled.empty() ? 0 : pooled.shape.back(); }

// A pooled vector [1, width] as the one token of a text, so that it can be laid beside another.
Tensor as_token(const Tensor& pooled) { return pooled.empty() ? pooled : pooled.reshaped({1, 1, pooled.shape.back()}); }

Condition join_sd3(const JoinInput& input) {
  const EncodedText &l = input.texts[0], &g = input.texts[1], &t5 = input.texts[2];
  // Projections are as wide as states, so what one encoder leaves of the vector is the width of the other.
  const int64_t vector_width = input.denoiser.vector_width();
  const int64_t l_width = vector_width - width_of(g.pooled),
                g_width = l.pooled.empty() ? 0 : vector_width - width_of(l.pooled);
  const Tensor clip = beside(or_zeros(l.states, tokens_of(g), l_width), or_zeros(g.states, tokens_of(l), g_width));
  const Tensor vector = beside(or_zeros(as_token(l.pooled), 1, l_width), or_zeros(as_token(g.pooled), 1, g_width));
  return {behind(clip, or_zeros(t5.states, kSd3T5Tokens, input.denoiser.context_width())),
          {},
          vector.reshaped({1, vector.shape.back()})};
}

Condition join_flux(const JoinInput& input) { return {input.texts[1].states, {}, input.texts[0].pooled}; }

constexpr TextUse kSd3Uses[] = {
    {.part = Part::kTextEncoder,
     .required = false,
     .clip_skip = 2,
     .final_norm = false,
     .pooled = ClipPooled::kProjected},
    {.part = Part::kTextEncoder2,
     .required = false,
     .clip_skip = 2,
     .final_norm = false,
     .pooled = ClipPooled::kProjected,
     .pad_id = kOpenClipPad},
    {.part = Part::kTextEncoder3, .kind = TextKind::kT5, .required = false, .length = kSd3T5Tokens, .grows = true}};
constexpr TextUse kFluxUses[] = {
    {.part = Part::kTextEncoder, .pooled = ClipPooled::kLast},
    {.part = Part::kTextEncoder3, .kind = TextKind::kT5, .length = kFluxT5Tokens, .grows = true}};

}  // namespace

constexpr TextPlan kSd3Text{kSd3Uses, join_sd3};
constexpr TextPlan kFluxText{kFluxUses, join_flux};

}  // namespace veneer::model
