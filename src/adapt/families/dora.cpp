// DoRA: V = W + delta of an additive family, and every row (or column) of V is brought to a stored length m:
// W' = V .* (m / ||V||). Terms: a gain of the output and the additive ones with the gain worked in, so that attaching
// has nothing to multiply; or a gain of the input and the additive ones behind it, which then see the scaled input.
#include <algorithm>

#include "adapt/families/parts.h"
#include "adapt/norms.h"
#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return keys.has("magnitude"); }

// Which lengths are stored follows from the layout. [out, 1...] and PEFT's [out] and [1, out, 1, 1] are those of rows,
// [1, in...] those of columns; where PEFT's form and the last collide, the key's name tells.
Result<nn::Side> axis_of(const KeyPart& magnitude, const Site& site) {
  const Shape& shape = magnitude.weight.shape;
  const int64_t out = site.rows, in = site.shape()[1], count = shape.elements();
  const bool is_peft = contains(magnitude.key, "magnitude_vector");
  if (count == out && (is_peft || shape.rank() == 0 || shape[0] == out)) return nn::Side::kOutput;
  if (count == in && !is_peft && shape.rank() >= 2 && shape[0] == 1 && shape[1] == in) return nn::Side::kInput;
  return mismatch(site, "dora magnitude ", shape.to_string(), " is neither [", out, ", 1] nor [1, ", in, "], layer is ",
                  site.shape().to_string());
}

void scale_terms(std::span<nn::Term> terms, double factor) {
  const auto scale = [factor](auto& term) {
    if constexpr (requires { term.scale; }) term.scale = static_cast<float>(term.scale * factor);
  };
  for (nn::Term& term : terms) std::visit(scale, term);
}

// The gain that the strength leads to, from the stored length and that of V. The guard keeps a row of zeros at zero.
double gain_of(double magnitude, double norm, const LowerOptions& options) {
  constexpr double kFloatEpsilon = 1.1920928955078125e-07;
  const double gain = magnitude / (norm + kFloatEpsilon);
  return options.dora == DoraConvention::kLycoris ? 1 + options.strength * (gain - 1) : gain;
}

Status rewrite(const KeyGroup& keys, const Site& site, const LowerOptions& options, Lowered& lowered) {
  Parts parts(keys, site, lowered);
  VENEER_TRY_STATUS(require_product(site, "DoRA"));
  const bool additive = std::all_of(lowered.terms.begin(), lowered.terms.end(), nn::is_additive);
  if (lowered.terms.empty() || !additive)
    return unsupported(site, "a dora magnitude needs LoRA, LoHa, LoKr or a difference beside it");
  VENEER_TRY(magnitude, parts.tensor("magnitude"));
  VENEER_TRY(side, axis_of(*keys.find("magnitude"), site));
  // PEFT puts the strength into V, LyCORIS into the gain; otherwise it blends W with W'.
  if (options.dora == DoraConvention::kPeft) scale_terms(lowered.terms, options.strength);
  lowered.strength_inside = options.dora != DoraConvention::kInterp;
  const auto norms =
      side == nn::Side::kOutput ? row_norms(site, lowered.terms, 1) : column_norms(site, lowered.terms, 1);
  std::vector<double> gains(norms.size());
  for (size_t i = 0; i < gains.size(); ++i) gains[i] = gain_of(magnitude.values()[i], norms[i], options);
  if (side == nn::Side::kOutput) {
    nn::Gain gain{to_tensor(gains, {site.rows}), side};
    const int64_t width = site.layer->weight.row_values();
    for (nn::Term& term : lowered.terms) term = nn::with_row_factors(term, width, gain.factors.values());
    lowered.terms.insert(lowered.terms.begin(), std::move(gain));
    return {};
  }
  // The columns of a grouped convolution stand for one channel of every group.
  const size_t per_group = gains.size();
  for (int64_t group = 1; group < site.layer->geometry.groups; ++group)
    gains.insert(gains.end(), gains.begin(), gains.begin() + static_cast<int64_t>(per_group));
  lowered.terms.insert(lowered.terms.begin(), nn::Gain{to_tensor(gains, {site.layer->in()}), side});
  return {};
}

}  // namespace

extern const Modifier kDora{"dora", claims, rewrite};

}  // namespace veneer::adapt
