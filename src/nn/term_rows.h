// Terms as rows of matrices: for folding them into decoded weights, for the norms that DoRA needs, for merged copies
// and for proofs.
#pragma once

#include <span>

#include "nn/terms.h"

namespace veneer::nn {

// Pair and Kron on the output side and Dense: z += scale * (a matrix) x.
bool is_additive(const Term& term);

// rows += factor * (rows [first, first + count) of the additive term's matrix, its own scale included), row-major
// [count, width], summed in the type of `rows`; `width` is what the layer's weight has a row (Weight::row_values).
// `base` holds the decoded rows of that weight, read only by a Dense term that needs them. Any thread; different ranges
// at the same time.
void add_term_rows(const Term& term, int64_t width, int64_t first, int64_t count, float factor, const float* base,
                   float* rows);
void add_term_rows(const Term& term, int64_t width, int64_t first, int64_t count, double factor, const float* base,
                   double* rows);

// The additive term with row o of its matrix [out, width] times factors[o]. Pairs stay pairs, all others become Dense.
Term with_row_factors(const Term& term, int64_t width, std::span<const float> factors);

}  // namespace veneer::nn
