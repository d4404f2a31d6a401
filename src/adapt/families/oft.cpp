// OFT of kohya and LyCORIS: groups of n consecutive outputs are rotated, W'_k = (I + strength (R_k - I))^T W_k. The
// bias is not rotated. The strength acts linearly unless `rescale` follows.
#include "adapt/families/oft.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) {
  const KeyPart* blocks = keys.find("oft_blocks");
  return keys.has("oft_diag") || (blocks && blocks->weight.shape.rank() != 4);
}

// LyCORIS before 2.1 stored the rotations themselves.
Result<Blocks> stored_rotations(Parts& parts, const Site& site) {
  VENEER_TRY(tensor, parts.tensor("oft_diag"));
  const Shape& shape = tensor.shape;
  if (shape.rank() != 3 || shape[1] != shape[2] || shape[0] * shape[1] != site.rows)
    return mismatch(site, "oft_diag ", shape.to_string(), " does not cover a layer of ", site.shape().to_string());
  parts.ignore("alpha");
  return blocks_from(tensor);
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions& options) {
  VENEER_TRY_STATUS(require_product(site, "OFT"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(rotations, parts.has("oft_diag") ? stored_rotations(parts, site) : output_rotations(parts, site));
  lowered.strength_inside = parts.has("rescale");
  if (lowered.strength_inside) interpolate(rotations, options.strength);
  lowered.terms.push_back(rotate_term(transposed(rotations), nn::Side::kOutput));
  if (lowered.strength_inside) {
    VENEER_TRY(gain, rescale_term(parts, site, options.strength));
    lowered.terms.push_back(std::move(gain));
  }
  return lowered;
}

}  // namespace

Result<Blocks> output_rotations(Parts& parts, const Site& site) {
  VENEER_TRY(tensor, parts.tensor("oft_blocks"));
  const Shape& shape = tensor.shape;
  const size_t last = shape.rank();
  if (last < 3 || last > 4 || shape[last - 1] != shape[last - 2] || shape[last - 3] * shape[last - 1] != site.rows)
    return mismatch(site, "oft_blocks ", shape.to_string(), " does not cover a layer of ", site.shape().to_string());
  Blocks skew = skew_part(blocks_from(tensor), 1);
  if (parts.has("alpha")) {
    VENEER_TRY(alpha, parts.number("alpha"));
    if (alpha > 0) limit_norm(skew, alpha * static_cast<double>(site.rows));
  }
  return cayley(skew);
}

Result<nn::Gain> rescale_term(Parts& parts, const Site& site, double strength) {
  VENEER_TRY(rescale, parts.vector("rescale", site.rows));
  for (float& factor : rescale.values()) factor = static_cast<float>(1 + strength * (static_cast<double>(factor) - 1));
  return nn::Gain{rescale, nn::Side::kOutput};
}

extern const Family kOft{"oft", claims, to_terms};

}  // namespace veneer::adapt
