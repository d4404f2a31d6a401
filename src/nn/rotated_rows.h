// Rotations as changes of the weight: R x in front of W is W R, R behind it is R W. For folding into panels, where they
// cost nothing a step, and for parts of a layer that a rotation reaches across.
#pragma once

#include "nn/terms.h"

namespace veneer::nn {

// Writes rows [first, first + count) of the weight that is rotated. Any thread.
using BaseRows = std::function<void(int64_t first, int64_t count, float* rows)>;

// (R - I) W: `base` gives W, of `row_values` a row. The term asks for any row of it, so it does not need the base of
// the rows that it is given.
Dense rotated_outputs(const Rotate& rotate, BaseRows base, int64_t row_values);

// W (R - I) from the rows of W themselves, each [channels, kernel size].
Dense rotated_inputs(const Rotate& rotate, int64_t kernel_size);

}  // namespace veneer::nn
