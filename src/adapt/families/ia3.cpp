// IA3: channels of the input or of the output times learned factors. LyCORIS stores what is added to 1, PEFT the factor
// itself, which in PEFT scales the bias with the output.
#include "adapt/families/parts.h"

namespace veneer::adapt {
namespace {

bool claims_lycoris(const KeyGroup& keys) { return keys.has("on_input") && keys.has("weight"); }

Result<Lowered> to_terms_lycoris(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_product(site, "IA3"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(on_input, parts.number("on_input"));
  const nn::Side side = on_input != 0 ? nn::Side::kInput : nn::Side::kOutput;
  VENEER_TRY(factors, parts.vector("weight", on_input != 0 ? site.layer->in() : site.rows));
  for (float& factor : factors.values()) factor += 1;
  lowered.terms.push_back(nn::Gain{factors, side});
  return lowered;
}

bool claims_peft(const KeyGroup& keys) { return keys.has("ia3_l"); }

// [out, 1] scales the output and [1, in] the input; convolutions store both as [1, n, 1, 1], told apart by n.
Result<nn::Side> side_of(const Shape& shape, const Site& site) {
  const int64_t in = site.layer->in(), out = site.rows, count = shape.elements();
  const bool is_row = shape.rank() >= 2 && shape[0] == 1 && count > 1;
  if (!is_row && count == out) return nn::Side::kOutput;
  if (is_row && shape.rank() == 4 && in == out && count == in)
    return unsupported(site, "ia3_l ", shape.to_string(), " may be for the input or for the output, both have ", in,
                       " channels");
  if (is_row && shape.rank() == 4 && count == out) return nn::Side::kOutput;
  if (count == in) return nn::Side::kInput;
  return mismatch(site, "ia3_l ", shape.to_string(), " fits neither the ", in, " inputs nor the ", out,
                  " outputs of a layer of ", site.shape().to_string());
}

Result<Lowered> to_terms_peft(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_product(site, "IA3"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(stored, parts.tensor("ia3_l"));
  VENEER_TRY(side, side_of(stored.shape, site));
  const Tensor factors = stored.reshaped({stored.elements()});
  lowered.terms.push_back(nn::Gain{factors, side});
  if (side == nn::Side::kOutput && !site.layer->bias.empty()) {
    Tensor delta = factors.clone();
    const float* bias = site.layer->bias.data() + site.first_row;
    for (float& value : delta.values()) value = *bias++ * (value - 1);
    lowered.terms.push_back(nn::Vector{nn::Vector::Of::kBias, delta});
  }
  return lowered;
}

}  // namespace

extern const Family kIa3{"ia3", claims_lycoris, to_terms_lycoris};
extern const Family kIa3Peft{"ia3 (peft)", claims_peft, to_terms_peft};

}  // namespace veneer::adapt
