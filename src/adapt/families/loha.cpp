// LoHa: delta = scale * (w1_a w1_b) .* (w2_a w2_b). The element-wise product of matrices of ranks r1 and r2 is one
// matrix of rank r1 r2, by products of all pairs of columns and of rows (Khatri-Rao): exact as a Pair while that is
// small, as rows on demand above.
#include <algorithm>

#include "adapt/families/factors.h"
#include "codec/row_sums.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) {
  return std::any_of(keys.parts.begin(), keys.parts.end(), [](const auto& p) { return p.first.starts_with("hada_"); });
}

// One of the two matrices: "hada_w1" with "hada_t1". The Tucker form stores its up factor as [rank, out].
Result<Factors> half(Parts& parts, const Site& site, const std::string& name, const std::string& core_name) {
  VENEER_TRY(up, parts.tensor(name + "_a"));
  VENEER_TRY(down, parts.tensor(name + "_b"));
  if (parts.has(core_name)) {
    VENEER_TRY(core, parts.tensor(core_name));
    VENEER_TRY(folded, fold_core(site, core_name, core, down));
    return fit_factors(site, name + "_a", transposed(up), name + "_b", folded);
  }
  return fit_factors(site, name + "_a", up, name + "_b", down);
}

Factors khatri_rao(const Factors& first, const Factors& second) {
  const int64_t r1 = first.rank(), r2 = second.rank(), rows = first.up.shape[0];
  const int64_t width = first.down.elements() / r1;
  Shape down = first.down.shape;
  down[0] = r1 * r2;
  Factors result{Tensor::zeros({rows, r1 * r2}), Tensor::zeros(down)};
  for (int64_t p = 0; p < r1; ++p)
    for (int64_t q = 0; q < r2; ++q) {
      for (int64_t row = 0; row < rows; ++row)
        result.up.f32()[row * r1 * r2 + p * r2 + q] = first.up.f32()[row * r1 + p] * second.up.f32()[row * r2 + q];
      for (int64_t i = 0; i < width; ++i)
        result.down.f32()[(p * r2 + q) * width + i] =
            first.down.f32()[p * width + i] * second.down.f32()[q * width + i];
    }
  return result;
}

// One row of up down.
void row_of(const Factors& factors, int64_t row, std::span<float> out) {
  const int64_t rank = factors.rank(), width = static_cast<int64_t>(out.size());
  std::fill(out.begin(), out.end(), 0.0f);
  codec::add_scaled_rows(factors.down.f32(), width, factors.up.f32() + row * rank, rank, width, out.data());
}

nn::Dense dense_product(const Factors& first, const Factors& second, double scale) {
  nn::Dense dense;
  dense.scale = static_cast<float>(scale);
  dense.what = concat("loha r=", first.rank());
  for (const Tensor* held : {&first.up, &first.down, &second.up, &second.down})
    dense.held_bytes += static_cast<int64_t>(held->bytes());
  dense.rows = [first, second](int64_t begin, int64_t count, float* rows) {
    const int64_t width = first.down.elements() / first.rank();
    std::vector<float> other(static_cast<size_t>(width));
    for (int64_t row = 0; row < count; ++row) {
      const std::span<float> out(rows + row * width, other.size());
      row_of(first, begin + row, out);
      row_of(second, begin + row, other);
      for (size_t i = 0; i < other.size(); ++i) out[i] *= other[i];
    }
  };
  return dense;
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions& options) {
  VENEER_TRY_STATUS(require_matrix(site, "LoHa"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  if (parts.has("hada_t1") != parts.has("hada_t2"))
    return mismatch(site, "one of hada_t1 and hada_t2 is missing; a Tucker form has both");
  VENEER_TRY(first, half(parts, site, "hada_w1", "hada_t1"));
  VENEER_TRY(second, half(parts, site, "hada_w2", "hada_t2"));
  VENEER_TRY(scale, parts.scale(rank_of(parts.shape("hada_w1_b"))));
  parts.notice_if_zero("hada_w1_a", first.up);
  parts.notice_if_zero("hada_w2_a", second.up);
  if (first.rank() * second.rank() <= options.pair_limit)
    lowered.terms.push_back(low_rank_term(site, khatri_rao(first, second), scale, "loha"));
  else
    lowered.terms.push_back(dense_product(first, second, scale));
  return lowered;
}

}  // namespace

extern const Family kLoHa{"loha", claims, to_terms};

}  // namespace veneer::adapt
