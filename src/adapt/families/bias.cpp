// Differences of a layer's bias: "diff_b", "b_norm", and PEFT's bias of the up factor, which takes the factors' scale.
#include "adapt/families/factors.h"

namespace veneer::adapt {
namespace {

constexpr std::string_view kParts[] = {"diff_b", "b_norm", "up_bias"};

bool claims(const KeyGroup& keys) {
  for (const std::string_view part : kParts)
    if (keys.has(part)) return true;
  return false;
}

// A layer without a bias is given one only together with a change of its weight: alone, the difference was made for
// another model.
Status require_bias(const Site& site, const Lowered& lowered, std::string_view part, const Shape& shape) {
  if (!site.layer->bias.empty()) return {};
  const bool can_have_one = site.layer->kind == nn::LayerKind::kLinear || site.layer->kind == nn::LayerKind::kConv2d;
  if (can_have_one && !lowered.terms.empty()) return {};
  return mismatch(site, part, " ", shape.to_string(), " is for a bias, layer ", site.shape().to_string(), " has none");
}

Status rewrite(const KeyGroup& keys, const Site& site, const LowerOptions& options, Lowered& lowered) {
  Parts parts(keys, site, lowered);
  parts.ignore("alpha");  // a difference is stored at its size; what it scales besides has been read
  for (const std::string_view part : kParts) {
    if (!parts.has(part)) continue;
    VENEER_TRY_STATUS(require_bias(site, lowered, part, parts.shape(part)));
    VENEER_TRY(delta, parts.vector(part, site.rows));
    // Where the strength is inside the terms already, nobody multiplies this difference by it later.
    double factor = lowered.strength_inside ? options.strength : 1;
    if (part == "up_bias") {
      VENEER_TRY(scale, keys.scale_for(rank_of(parts.shape("down"))));
      factor *= scale;
    }
    for (float& value : delta.values()) value = static_cast<float>(factor * value);
    lowered.terms.push_back(nn::Vector{nn::Vector::Of::kBias, delta});
  }
  return {};
}

}  // namespace

extern const Modifier kBias{"bias", claims, rewrite};

}  // namespace veneer::adapt
