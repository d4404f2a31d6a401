// The product of a layer: the one place where stored weights, panels, terms and the device meet. The base product and
// all terms are summed in float32; the bias comes last.
#pragma once

#include "nn/context.h"

namespace veneer::nn {

// [..., in] -> [..., out].
Tensor linear(Context& context, const Layer& layer, const Tensor& x);
// The same for an `x` that is the same in every call: kept in `context.kept`, where there is one, by the first of them.
Tensor linear_once(Context& context, const Layer& layer, const Tensor& x);
// [batch, height, width, in] -> [batch, out_height, out_width, out].
Tensor conv2d(Context& context, const Layer& layer, const Tensor& x);

// How many outputs of a layer are decoded and multiplied at a time. Fixed by the layer alone, so that a result does not
// depend on what the cache holds.
int64_t slice_rows(const Layer& layer);

}  // namespace veneer::nn
