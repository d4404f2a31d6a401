// Pairs of low-rank factors as files hold them, brought into the form of a layer: up [rows, rank], down [rank, in] or
// [rank, in, kh, kw]. Shared by the families whose change is such a product, or is made of them.
#pragma once

#include "adapt/families/parts.h"

namespace veneer::adapt {

struct Factors {
  Tensor up, down;
  int64_t rank() const { return up.shape[1]; }
};

// The first dimension of a down factor; a vector is a factor of rank 1 whose dimension was dropped.
int64_t rank_of(const Shape& down);

// Brings the factors into the form of the site's weight. A matrix, a flattened and a 1x1 form of the same numbers are
// the same. `up_name` and `down_name` are the parts, for messages. Errors: mismatch naming the layer, both shapes, what
// they give and what the layer is.
Result<Factors> fit_factors(const Site& site, std::string_view up_name, const Tensor& up, std::string_view down_name,
                            const Tensor& down);

// The middle of a Tucker form worked into the factor beside it: out[p, i, y, x] = sum over q of core[p, q, y, x] *
// down[q, i]. core [p, q, kh, kw], down [q, in] or [q, in, 1, 1]. Errors: mismatch naming the part and both shapes.
Result<Tensor> fold_core(const Site& site, std::string_view core_name, const Tensor& core, const Tensor& down);

// [a, b] or [a, b, 1, 1] -> [b, a].
Tensor transposed(const Tensor& matrix);

// Rows of an additive term made on demand. For grouped convolutions, whose `down` sees only a part of the input and so
// is no convolution of its own.
nn::Dense as_dense(nn::Term additive, const Site& site, std::string what);

// A Pair where the layer can run one, else a Dense.
nn::Term low_rank_term(const Site& site, const Factors& factors, double scale, std::string_view family);

}  // namespace veneer::adapt
