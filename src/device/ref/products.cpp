// Matrix product and convolution by their definitions. A panel is a copy of the weights.
#include <algorithm>
#include <vector>

#include "device/ref/kernels.h"

namespace veneer::device::ref {
namespace {

using Weights = std::vector<float>;

void store(const RowSource& weights, const Shape& shape, Panel* panel) {
  auto copy = std::make_shared<Weights>(static_cast<size_t>(shape.elements()));
  if (weights.values())
    std::copy_n(weights.values(), copy->size(), copy->data());
  else
    weights.make(0, shape[0], copy->data());
  *panel = {shape, copy->size() * sizeof(float), std::move(copy)};
}

const float* weights_of(const Panel* panel) { return static_cast<const Weights*>(panel->memory.get())->data(); }

// y = sum, or y += sum.
void put(float* y, double sum, bool accumulate) { *y = static_cast<float>(accumulate ? *y + sum : sum); }

// One output channel `n` at output pixel (row, column) of image `b`.
double conv_sum(const Conv& conv, int64_t b, int64_t row, int64_t column, int64_t n) {
  const Shape& shape = conv.w->shape;  // [out, in / groups, kh, kw]
  const ConvGeometry& geometry = conv.geometry;
  const int64_t inputs = shape[1];
  const int64_t channels = inputs * geometry.groups;
  const int64_t first = n / (shape[0] / geometry.groups) * inputs;  // first input channel of n's group
  const float* w = weights_of(conv.w) + n * inputs * shape[2] * shape[3];
  double sum = 0;
  for (int64_t kh = 0; kh < shape[2]; ++kh) {
    const int64_t h = row * geometry.stride + kh - geometry.pad_top;
    if (h < 0 || h >= conv.height) continue;
    for (int64_t kw = 0; kw < shape[3]; ++kw) {
      const int64_t v = column * geometry.stride + kw - geometry.pad_left;
      if (v < 0 || v >= conv.width) continue;
      const float* x = conv.x + ((b * conv.height + h) * conv.width + v) * channels + first;
      for (int64_t c = 0; c < inputs; ++c) sum += double{x[c]} * w[(c * shape[2] + kh) * shape[3] + kw];
    }
  }
  return sum;
}

}  // namespace

void pack_matmul(Device&, const PackMatmul& pack) { store(pack.rows, {pack.out, pack.in}, pack.panel); }

void matmul(Device&, const Matmul& product) {
  const int64_t out = product.w->shape[0], in = product.w->shape[1];
  const float* w = weights_of(product.w);
  for (int64_t m = 0; m < product.rows; ++m) {
    const float* x = product.x + m * product.x_stride;
    for (int64_t n = 0; n < out; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < in; ++k) sum += double{x[k]} * w[n * in + k];
      put(product.y + m * product.y_stride + n, sum, product.accumulate);
    }
  }
}

void pack_conv(Device&, const PackConv& pack) { store(pack.weight, pack.shape, pack.panel); }

void conv(Device&, const Conv& conv) {
  const Shape& shape = conv.w->shape;
  const int64_t height = conv.geometry.out_height(conv.height, shape[2]);
  const int64_t width = conv.geometry.out_width(conv.width, shape[3]);
  for (int64_t b = 0; b < conv.batch; ++b)
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column) {
        float* y = conv.y + ((b * height + row) * width + column) * conv.y_stride;
        for (int64_t n = 0; n < shape[0]; ++n) put(y + n, conv_sum(conv, b, row, column, n), conv.accumulate);
      }
}

}  // namespace veneer::device::ref
