// Terms run beside the base product, in float32. Only the files of this folder include it.
#pragma once

#include "nn/base_product.h"

namespace veneer::nn {

// y += factor * term(x) for an additive term; y begins at the first output that the term is about.
void add_term_product(Context& context, const Layer& layer, const Term& term, float factor, const Tensor& x, Output y);

// The layer's input as each term of the program finds it, and at last as the base product does: terms.size() + 1
// tensors, which share memory where nothing changes.
std::vector<Tensor> inputs_of(Context& context, const Program& program, const Tensor& x);

// Runs a program that turns outputs on z, which is W x of the last of its inputs.
void run_program(Context& context, const Layer& layer, const Program& program, std::span<const Tensor> inputs,
                 Tensor& z);

// x as the product of this layer sees it.
Input input_of(const Layer& layer, const Tensor& x);

}  // namespace veneer::nn
