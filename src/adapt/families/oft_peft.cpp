// OFT of PEFT: groups of n consecutive inputs are rotated, W' = W blockdiag(R)^T, so x is seen as blockdiag(R)^T x. The
// rotation runs over all values of a row of the weight: over the channels where a layer looks at one pixel; else over
// channels and kernel together, which no turning of pixels can give, so those layers take rows on demand.
#include <algorithm>
#include <cmath>

#include "adapt/families/rotation.h"
#include "nn/rotated_rows.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return keys.has("oft_R"); }

// The n of a triangle of n (n - 1) / 2 values, or 0.
int64_t size_of_triangle(int64_t values) {
  const auto n = static_cast<int64_t>(std::llround((1 + std::sqrt(1 + 8 * static_cast<double>(values))) / 2));
  return n * (n - 1) / 2 == values ? n : 0;
}

Result<Blocks> input_rotations(Parts& parts, const Site& site) {
  VENEER_TRY(triangles, parts.tensor("oft_R"));
  const int64_t width = site.layer->weight.row_values();
  const Shape& shape = triangles.shape;
  const int64_t n = shape.rank() == 2 ? size_of_triangle(shape[1]) : 0;
  const bool shared = shape[0] == 1;  // one set of values for all blocks (block_share)
  if (n == 0 || width % n != 0 || (!shared && shape[0] * n != width))
    return mismatch(site, "oft_R ", shape.to_string(), " does not cover the ", width, " inputs of a layer of ",
                    site.shape().to_string());
  const GroupSettings& settings = parts.settings();
  Blocks skew = skew_from_triangles(triangles, n);
  Blocks rotations;
  if (settings.cayley_neumann) {
    if (settings.cayley_neumann_terms < 2 || settings.cayley_neumann_terms > 64)
      return unsupported(site, "num_cayley_neumann_terms is ", settings.cayley_neumann_terms, ", expected 2 to 64");
    rotations = cayley_neumann(skew, settings.cayley_neumann_terms);
  } else {
    for (double& value : skew.values) value = -value;  // this form turns the other way
    rotations = cayley(skew);
  }
  if (shared) {
    const std::vector<double> one = rotations.values;
    for (rotations.count = 1; rotations.count * n < width; ++rotations.count)
      rotations.values.insert(rotations.values.end(), one.begin(), one.end());
  }
  return rotations;
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_product(site, "OFT"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(rotations, input_rotations(parts, site));
  const nn::Rotate rotate = rotate_term(transposed(rotations), nn::Side::kInput);
  if (site.layer->kernel_size() == 1 && site.layer->geometry.groups == 1)
    lowered.terms.push_back(rotate);
  else
    lowered.terms.push_back(nn::rotated_inputs(rotate, 1));
  return lowered;
}

}  // namespace

extern const Family kOftPeft{"oft (peft)", claims, to_terms};

}  // namespace veneer::adapt
