// AdaLoRA: delta = up diag(E) down * alpha / (ranknum + 1e-5), where E are the singular values that training kept and
// ranknum is how many it meant to keep.
#include "adapt/families/factors.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return keys.has("lora_E"); }

Result<double> scale_of(const KeyGroup& keys, const Site& site, Parts& parts, int64_t rank) {
  const bool has_alpha = keys.settings.alpha || parts.has("alpha");
  if (!parts.has("ranknum") || !has_alpha) {
    parts.ignore("ranknum");
    return parts.scale(rank);
  }
  VENEER_TRY(kept, parts.number("ranknum"));
  if (kept < 0) return mismatch(site, "ranknum is ", kept, ", expected the number of ranks that were kept");
  VENEER_TRY(alpha, parts.scale(1));
  return alpha / (kept + 1e-5);
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_matrix(site, "AdaLoRA"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(up, parts.tensor("up"));
  VENEER_TRY(down, parts.tensor("down"));
  VENEER_TRY(factors, fit_factors(site, "up", up, "down", down));
  VENEER_TRY(singular, parts.vector("lora_E", factors.rank()));
  const int64_t width = factors.down.elements() / factors.rank();
  for (int64_t i = 0; i < factors.down.elements(); ++i) factors.down.f32()[i] *= singular.f32()[i / width];
  VENEER_TRY(scale, scale_of(keys, site, parts, factors.rank()));
  lowered.terms.push_back(low_rank_term(site, factors, scale, "adalora"));
  return lowered;
}

}  // namespace

extern const Family kAdaLora{"adalora", claims, to_terms};

}  // namespace veneer::adapt
