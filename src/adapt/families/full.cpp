// Whole differences and replacements: "diff" is added to a weight, "w_norm" to a norm's; "set_weight" takes its place.
// Matrices stay as stored, their rows are decoded when they are needed.
#include "adapt/families/parts.h"

namespace veneer::adapt {
namespace {

// The part as a weight in the site's shape. Its values have been read once and are finite.
Result<codec::Weight> weight_of(const KeyGroup& keys, Parts& parts, const Site& site, std::string_view part) {
  VENEER_TRY(values, parts.tensor(part));
  if (!same_but_trailing_ones(values.shape, site.shape()))
    return mismatch(site, part, " is ", values.shape.to_string(), ", layer is ", site.shape().to_string());
  parts.notice_if_zero(part, values);
  codec::Weight weight = keys.find(part)->weight;
  weight.shape = site.shape();
  return weight;
}

nn::Dense difference(const codec::Weight& weight) {
  nn::Dense dense;
  dense.what = "difference";
  dense.held_bytes = static_cast<int64_t>(weight.stored_bytes());
  dense.rows = [weight](int64_t first, int64_t count, float* rows) { weight.decode_rows(first, count, rows); };
  return dense;
}

bool claims_difference(const KeyGroup& keys) { return keys.has("diff") || keys.has("w_norm"); }

Result<Lowered> to_terms_difference(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  Lowered lowered;
  Parts parts(keys, site, lowered);
  parts.ignore("alpha");  // a difference is stored at its size
  for (const std::string_view part : {"diff", "w_norm"}) {
    if (!parts.has(part)) continue;
    if (site.layer->kind == nn::LayerKind::kNorm) {
      VENEER_TRY(delta, parts.vector(part, site.rows));
      parts.notice_if_zero(part, delta);
      lowered.terms.push_back(nn::Vector{nn::Vector::Of::kWeight, delta});
    } else if (part == "diff") {
      VENEER_TRY(weight, weight_of(keys, parts, site, part));
      lowered.terms.push_back(difference(weight));
    } else {
      return mismatch(site, "w_norm is for a norm, layer is ", site.shape().to_string());
    }
  }
  return lowered;
}

bool claims_replacement(const KeyGroup& keys) { return keys.has("set_weight"); }

Result<Lowered> to_terms_replacement(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  Lowered lowered;
  Parts parts(keys, site, lowered);
  if (!site.is_whole())
    return unsupported(site, "set_weight replaces whole layers, not rows ", site.first_row, " to ",
                       site.first_row + site.rows);
  VENEER_TRY(weight, weight_of(keys, parts, site, "set_weight"));
  lowered.terms.push_back(nn::Replace{std::move(weight)});
  return lowered;
}

}  // namespace

extern const Family kDifference{"full", claims_difference, to_terms_difference};
extern const Family kReplacement{"replace", claims_replacement, to_terms_replacement};

}  // namespace veneer::adapt
