// LoKr: delta = scale * (w1 (x) w2), the Kronecker product; each factor whole or as a product of two, the second also
// with a Tucker middle.
#include <algorithm>

#include "adapt/families/factors.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) {
  return std::any_of(keys.parts.begin(), keys.parts.end(), [](const auto& p) { return p.first.starts_with("lokr_"); });
}

Result<Tensor> left_factor(Parts& parts, const Site& site) {
  if (parts.has("lokr_w1")) {
    VENEER_TRY(whole, parts.tensor("lokr_w1"));
    if (whole.shape.rank() != 2) return mismatch(site, "lokr_w1 ", whole.shape.to_string(), " is no matrix");
    return whole;
  }
  VENEER_TRY(a, parts.tensor("lokr_w1_a"));
  VENEER_TRY(b, parts.tensor("lokr_w1_b"));
  if (a.shape.rank() != 2 || b.shape.rank() != 2 || a.shape[1] != b.shape[0])
    return mismatch(site, "lokr_w1_a ", a.shape.to_string(), " x lokr_w1_b ", b.shape.to_string(),
                    ": the two do not agree on the rank");
  const int64_t rows = a.shape[0], rank = a.shape[1], columns = b.shape[1];
  std::vector<double> product(static_cast<size_t>(rows * columns));
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t k = 0; k < rank; ++k)
      for (int64_t q = 0; q < columns; ++q)
        product[static_cast<size_t>(p * columns + q)] +=
            static_cast<double>(a.f32()[p * rank + k]) * b.f32()[k * columns + q];
  return to_tensor(product, {rows, columns});
}

struct Right {
  Tensor up;    // [c, rank], or empty when the factor is whole
  Tensor down;  // [c or rank, d...]
};

Result<Right> right_factor(Parts& parts, const Site& site) {
  if (parts.has("lokr_w2")) {
    VENEER_TRY(whole, parts.tensor("lokr_w2"));
    return Right{{}, whole};
  }
  VENEER_TRY(up, parts.tensor("lokr_w2_a"));
  VENEER_TRY(down, parts.tensor("lokr_w2_b"));
  if (parts.has("lokr_t2")) {  // this form stores its up factor as [rank, c]
    VENEER_TRY(core, parts.tensor("lokr_t2"));
    VENEER_TRY(folded, fold_core(site, "lokr_t2", core, down));
    up = transposed(up);
    down = std::move(folded);
  }
  if (up.shape.rank() != 2 || up.shape[1] != rank_of(down.shape))
    return mismatch(site, "lokr_w2_a ", up.shape.to_string(), " x lokr_w2_b ", down.shape.to_string(),
                    ": the two do not agree on the rank");
  return Right{up, down};
}

// Brings the right factor's rows into the form of the layer's, and checks that blocks of it tile the weight.
Status fit(const Site& site, const Tensor& left, Right& right) {
  const Shape layer = site.shape();
  const int64_t c = right.up.empty() ? rank_of(right.down.shape) : right.up.shape[0];
  const int64_t width = right.down.elements() / rank_of(right.down.shape);
  Shape rows = layer;
  rows[0] = rank_of(right.down.shape);
  rows[1] = width / site.layer->kernel_size();
  const bool same_kernel =
      right.down.shape.rank() == 4 ? same_but_trailing_ones(right.down.shape, rows) : right.down.shape.rank() <= 2;
  if (left.shape[0] * c != layer[0] || left.shape[1] * rows[1] != layer[1] || !same_kernel ||
      width % site.layer->kernel_size() != 0)
    return mismatch(site, "lokr_w1 ", left.shape.to_string(), " (x) lokr_w2 [", c, " rows of ", width, "] gives [",
                    left.shape[0] * c, ", ", left.shape[1] * width, "], layer is ", layer.to_string());
  right.down = right.down.reshaped(rows);
  return {};
}

// Whole factors are not scaled, whatever alpha says, except where PEFT's configuration gives alpha and rank.
Result<double> scale_of(const KeyGroup& keys, Parts& parts) {
  const GroupSettings& settings = keys.settings;
  if (settings.is_peft && settings.alpha && settings.rank && *settings.rank > 0) return parts.scale(*settings.rank);
  if (parts.has("lokr_w2_b")) return parts.scale(rank_of(parts.shape("lokr_w2_b")));
  if (parts.has("lokr_w1_b")) return parts.scale(rank_of(parts.shape("lokr_w1_b")));
  parts.ignore("alpha");
  return parts.has("scale") ? parts.number("scale") : 1.0;
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions&) {
  VENEER_TRY_STATUS(require_matrix(site, "LoKr"));
  Lowered lowered;
  Parts parts(keys, site, lowered);
  VENEER_TRY(left, left_factor(parts, site));
  VENEER_TRY(right, right_factor(parts, site));
  VENEER_TRY_STATUS(fit(site, left, right));
  parts.notice_if_zero("lokr_w1", left);
  parts.notice_if_zero("lokr_w2", right.up.empty() ? right.down : right.up);
  VENEER_TRY(scale, scale_of(keys, parts));
  nn::Kron kron{left, right.down, right.up, static_cast<float>(scale)};
  if (site.layer->geometry.groups == 1) {
    lowered.terms.push_back(std::move(kron));
  } else {
    lowered.terms.push_back(as_dense(std::move(kron), site, "lokr"));
  }
  return lowered;
}

}  // namespace

extern const Family kLoKr{"lokr", claims, to_terms};

}  // namespace veneer::adapt
