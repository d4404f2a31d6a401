// SSF (scale and shift deep features): y = g * z + b per output channel, z being the layer's own output without its
// bias. Two vectors a layer, ssf_scale [out] and ssf_shift [out]; the strength acts linearly on both.
#include "adapt/families/parts.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return keys.has("ssf_scale"); }

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_product(site, "SSF"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(scale, parts.vector("ssf_scale", site.rows));
  lowered.terms.push_back(nn::Gain{scale, nn::Side::kOutput});
  if (parts.has("ssf_shift")) {
    VENEER_TRY(shift, parts.vector("ssf_shift", site.rows));
    lowered.terms.push_back(nn::Vector{nn::Vector::Of::kBias, shift});
  }
  return lowered;
}

}  // namespace

extern const Family kSsf{"ssf", claims, to_terms};

}  // namespace veneer::adapt
