// Terms as rows of matrices: for folding them into decoded weights, for the norms that DoRA needs, for merged copies
// and for proofs.
#pragma once

#include <span>

#include "nn/layer.h"
#include "nn/terms.h"

namespace veneer::nn {

// Pair and Kron on the output side and Dense: z += scale * (a matrix) x.
bool is_additive(const Term& term);

// rows += factor * (rows [first, first + count) of the additive term's matrix, its own scale included), row-major
// [count, row_values of the layer's weight], summed in the type of `rows`. `base` holds the decoded rows of the layer's
// weight, read only by a Dense term that needs them. Any thread; different ranges at the same time.
void add_term_rows(const Term& term, const Layer& layer, int64_t first, int64_t count, float factor, const float* base,
                   float* rows);
void add_term_rows(const Term& term, const Layer& layer, int64_t first, int64_t count, double factor, const float* base,
                   double* rows);

// The additive term with row o of its matrix times factors[o]. Pairs stay pairs, all others become Dense; the result
// reads `layer` when it is used.
Term with_row_factors(const Layer& layer, const Term& term, std::span<const float> factors);

}  // namespace veneer::nn
