// LoRA, LoCon and their Tucker form: delta = scale * up down, or up (mid x down). DyLoRA, LoRA-FA, rsLoRA and what PEFT
// writes are this; only the scale is found elsewhere (KeyGroup::scale_for).
#include <algorithm>

#include "adapt/families/factors.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return (keys.has("up") || keys.has("down")) && !keys.has("lora_E"); }

// An inpainting network takes mask and picture behind the latents, which an adapter made for the plain one never saw.
Tensor padded_for_inpainting(const Site& site, const Tensor& down, Parts& parts) {
  const Shape layer = site.shape();
  const bool is_inpainting = layer.rank() == 4 && layer[1] == 9 && site.layer->name.ends_with("conv_in");
  if (!is_inpainting || down.shape.rank() != 4 || down.shape[1] != 4) return down;
  Tensor padded = Tensor::zeros({down.shape[0], layer[1], down.shape[2], down.shape[3]});
  const int64_t kernel = down.shape[2] * down.shape[3];
  for (int64_t k = 0; k < down.shape[0]; ++k)
    std::copy_n(down.f32() + k * 4 * kernel, 4 * kernel, padded.f32() + k * layer[1] * kernel);
  parts.notice(concat(site.layer->name, ": the adapter knows 4 of the 9 input channels; the others are not changed"));
  return padded;
}

// The first `limit` ranks: what DyLoRA trains each prefix of its factors for.
Factors first_ranks(const Factors& factors, int64_t limit) {
  Shape down = factors.down.shape;
  down[0] = limit;
  Factors cut{Tensor::zeros({factors.up.shape[0], limit}), Tensor::zeros(down)};
  std::copy_n(factors.down.f32(), cut.down.elements(), cut.down.f32());
  for (int64_t row = 0; row < cut.up.shape[0]; ++row)
    std::copy_n(factors.up.f32() + row * factors.rank(), limit, cut.up.f32() + row * limit);
  return cut;
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions& options) {
  VENEER_TRY_STATUS(require_matrix(site, "LoRA"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  if (parts.has("reshape_weight"))
    return unsupported(site, "the adapter makes the layer larger (reshape_weight), which this network cannot feed");
  VENEER_TRY(up, parts.tensor("up"));
  VENEER_TRY(down, parts.tensor("down"));
  VENEER_TRY(scale, parts.scale(rank_of(down.shape)));
  parts.notice_if_zero("up", up);
  if (parts.has("mid")) {
    VENEER_TRY(mid, parts.tensor("mid"));
    VENEER_TRY(folded, fold_core(site, "mid", mid, down));
    down = std::move(folded);
  }
  VENEER_TRY(factors, fit_factors(site, "up", up, "down", padded_for_inpainting(site, down, parts)));
  if (options.rank_limit > 0 && options.rank_limit < factors.rank()) {
    if (parts.has("mid"))
      parts.notice(concat(site.layer->name, ": factors with a middle have no order of ranks; all of them are used"));
    else
      factors = first_ranks(factors, options.rank_limit);
  }
  lowered.terms.push_back(low_rank_term(site, factors, scale, "lora"));
  return lowered;
}

}  // namespace

extern const Family kLora{"lora", claims, to_terms};

}  // namespace veneer::adapt
