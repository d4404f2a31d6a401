// Terms for some of the rows of the matrix that they were made for: what an adapter of a fused matrix means to each of
// the layers that the model has in its place.
#pragma once

#include "core/result.h"
#include "nn/layer.h"
#include "nn/terms.h"

namespace veneer::adapt {

// Rows [first, first + count) of a matrix of `of` rows, counted round past its end: (n / 2, n, n) exchanges the halves.
struct RowWindow {
  int64_t first, count, of;
  bool operator==(const RowWindow&) const = default;
};

// What `terms` do to the rows of the window; input sides stay whole. `whole` is the layer that they were lowered for.
// Errors: unsupported (a rotation of outputs that mixes rows of several layers behind another term, or in an order of
// its own).
Result<std::vector<nn::Term>> cut_rows(std::span<const nn::Term> terms, const std::shared_ptr<const nn::Layer>& whole,
                                       RowWindow window);

}  // namespace veneer::adapt
