// What programs make of a layer, as numbers: the definition of every term carried out on the decoded weight in double.
// Slow and plain; merges, proofs and tests compare with it. The product (product.h) never forms these rows.
#pragma once

#include <span>
#include <vector>

#include "nn/layer.h"
#include "nn/terms.h"

namespace veneer::nn {

// Rows [first, first + count) of W + sum over programs of amount * (F(W) - W), [count, row_values] row-major. W is the
// decoded weight of the layer, or the last replacement among the programs. A program that rotates outputs is evaluated
// on all its rows, whatever range is asked for.
std::vector<double> adapted_rows(const Layer& layer, std::span<const Program> programs, int64_t first, int64_t count);

// The layer's bias (zeros where it has none), or the weight of a norm, with the programs' additions.
std::vector<double> adapted_vector(const Layer& layer, std::span<const Program> programs, Vector::Of of);

}  // namespace veneer::nn
