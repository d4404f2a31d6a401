// BOFT of PEFT: W' = s .* (W Q^T), Q = B_{m-1} ... B_0, B_i = P_i blockdiag(R_i) P_i^T. The permutations are not in the
// file; a stage with more than one factor takes runs of 2^i n inputs and lists the even groups of n / 2 before the odd.
#include "adapt/families/rotation.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) { return keys.has("boft_R"); }

// P[k, p[k]] = 1, so position p[k] of the turned order holds input k.
std::vector<int32_t> shuffle_order(int64_t width, int64_t run, int64_t half) {
  std::vector<int32_t> order(static_cast<size_t>(width));
  int32_t k = 0;
  for (int64_t begin = 0; begin < width; begin += run)
    for (int64_t parity = 0; parity < 2; ++parity)
      for (int64_t group = parity; group < run / half; group += 2)
        for (int64_t i = 0; i < half; ++i) order[static_cast<size_t>(begin + group * half + i)] = k++;
  return order;
}

// One rotation of the input per stage, in the order in which x passes them: Q^T = B_0^T ... B_{m-1}^T.
Status add_stages(const Tensor& stored, const Site& site, std::vector<nn::Term>& terms) {
  const Shape& shape = stored.shape;
  const int64_t width = site.layer->weight.row_values();
  if (shape.rank() != 4 || shape[2] != shape[3] || shape[1] * shape[3] != width)
    return mismatch(site, "boft_R ", shape.to_string(), " does not cover the ", width, " inputs of a layer of ",
                    site.shape().to_string());
  const int64_t stages = shape[0], count = shape[1], n = shape[3];
  // (I - S) (I + S)^-1 with S = (B - B^T) / 2.
  const Blocks rotations = transposed(cayley(skew_part(blocks_from(stored), -0.5)));
  for (int64_t stage = stages - 1; stage >= 0; --stage) {
    const bool fits = stages == 1 || (n % 2 == 0 && stage < 32 && width % (n << stage) == 0);
    if (!fits)
      return mismatch(site, "boft_R ", shape.to_string(), ": stage ", stage, " does not divide the layer's ", width,
                      " inputs");
    const auto first = rotations.values.begin() + stage * count * n * n;
    const Blocks blocks{count, n, std::vector<double>(first, first + count * n * n)};
    auto order = stages == 1 ? std::vector<int32_t>() : shuffle_order(width, n << stage, n / 2);
    terms.push_back(rotate_term(blocks, nn::Side::kInput, std::move(order)));
  }
  return {};
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_product(site, "BOFT"));
  if (site.layer->kernel_size() != 1 || site.layer->geometry.groups != 1)
    return unsupported(site, "BOFT of PEFT turns channels and kernel together; only layers that look at one pixel can");
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(stored, parts.tensor("boft_R"));
  VENEER_TRY_STATUS(add_stages(stored, site, lowered.terms));
  if (parts.has("boft_s")) {
    VENEER_TRY(factors, parts.vector("boft_s", site.rows));
    lowered.terms.push_back(nn::Gain{factors, nn::Side::kOutput});
  }
  return lowered;
}

}  // namespace

extern const Family kBoftPeft{"boft (peft)", claims, to_terms};

}  // namespace veneer::adapt
