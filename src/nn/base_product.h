// The base product of a layer and the pieces that products of terms share with it: panels are made of decoded rows,
// slice by slice, and multiplied. Only the files of this folder include it.
#pragma once

#include "nn/context.h"

namespace veneer::nn {

// The input of a product: for a convolution an image, else rows of features.
struct Input {
  const float* data;
  int64_t batch, height, width;  // rows = batch * height * width
  int64_t rows() const { return batch * height * width; }
};

// Where a product goes: outputs of consecutive rows lie `stride` floats apart.
struct Output {
  float* data;
  int64_t stride;
};

// A panel of rows of numbers: [out, in], or [out, in / groups, kh, kw] for a convolution with the given geometry. Terms
// are multiplied in float32, whatever the base product is.
void pack(Context& context, const device::RowSource& values, const Shape& shape, const device::ConvGeometry& geometry,
          const Input& x, device::Panel& panel, device::Compute compute = device::Compute::kF32);

void multiply(Context& context, const device::Panel& panel, const device::ConvGeometry& geometry, const Input& x,
              Output y, bool accumulate);

// The shape of `rows` outputs of the layer as a panel.
Shape panel_shape(const Layer& layer, int64_t rows);

// y = or += (the layer's weight, as the overlay folds or replaces it) x. No bias. `overlay` may be null.
void base_product(Context& context, const Layer& layer, const Overlay* overlay, const Input& x, Output y,
                  bool accumulate);

}  // namespace veneer::nn
