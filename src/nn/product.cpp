// Slice by slice: decode rows of the weight, pack them, multiply. Then the terms, then the bias.
#include "nn/product.h"

#include <algorithm>

namespace veneer::nn {
namespace {

// Bytes of decoded weight in work at a time: small against memory, large enough that a product is not split in vain.
constexpr int64_t kSliceBytes = int64_t{16} << 20;
constexpr int64_t kSliceMultiple = 64;  // outputs; a whole number of the widest register blocks

// The input of a product: for a convolution an image, else rows of features.
struct Input {
  const float* data;
  int64_t batch, height, width;  // rows = batch * height * width
  int64_t rows() const { return batch * height * width; }
};

// Rows are shared out over the pool: decoding is the only arithmetic here that the device does not do.
void decode(const codec::Weight& weight, int64_t first, int64_t count, float* out) {
  const int64_t values = weight.row_values();
  constexpr int64_t kValuesPerTask = 1 << 16;
  const int64_t rows_per_task = std::max<int64_t>(1, kValuesPerTask / values);
  const int64_t tasks = (count + rows_per_task - 1) / rows_per_task;
#pragma omp parallel for schedule(static)
  for (int64_t task = 0; task < tasks; ++task) {
    const int64_t begin = task * rows_per_task;
    weight.decode_rows(first + begin, std::min(rows_per_task, count - begin), out + begin * values);
  }
}

// A panel of plain numbers: [out, in], or [out, in, kh, kw] for a convolution with the given geometry.
void pack(Context& context, const float* values, const Shape& shape, const device::ConvGeometry& geometry,
          const Input& x, device::Panel& panel) {
  if (shape.rank() == 4) {
    context.device.run(device::PackConv{values, shape, geometry, x.batch, x.height, x.width, &panel});
  } else {
    context.device.run(device::PackMatmul{values, shape[0], shape.elements() / shape[0], &panel});
  }
}

// The slice [first, first + count) of the layer's outputs, from the cache or made now. `made` holds what was made.
const device::Panel& panel_of(Context& context, const Layer& layer, int64_t first, int64_t count, const Input& x,
                              device::Panel& made) {
  if (const device::Panel* cached = context.panels.find(layer, first)) return *cached;
  Tensor scratch = context.arena.allocate({count * layer.weight.row_values()});
  if (!context.measuring()) decode(layer.weight, first, count, scratch.f32());
  Shape shape = layer.weight.shape;
  shape[0] = count;
  if (layer.is_pointwise()) shape = {count, layer.weight.row_values()};
  // A cached panel must own its memory, so that of the last slice is used again only when it was not kept.
  pack(context, scratch.f32(), shape, layer.geometry, x, made);
  if (context.panels.keep(layer, first, made)) {
    made = {};
    return *context.panels.find(layer, first);
  }
  return made;
}

// One multiplication into columns of y.
void multiply(Context& context, const device::Panel& panel, const device::ConvGeometry& geometry, const Input& x,
              float* y, int64_t y_stride, bool accumulate) {
  if (panel.shape.rank() == 4) {
    context.device.run(device::Conv{x.data, x.batch, x.height, x.width, &panel, geometry, y, y_stride, accumulate});
  } else {
    context.device.run(device::Matmul{x.data, x.rows(), panel.shape[1], &panel, y, y_stride, accumulate});
  }
}

void add_term(Context& context, const Layer& layer, const Pair& pair, const Input& x, Tensor& y) {
  const int64_t rank = pair.up.shape[1];
  const int64_t pixels = y.elements() / layer.out();
  Tensor inner = context.arena.allocate({pixels, rank});
  const Shape down_shape = layer.is_pointwise() ? Shape{rank, pair.down.elements() / rank} : pair.down.shape;
  device::Panel down, up;
  pack(context, pair.down.f32(), down_shape, layer.geometry, x, down);
  pack(context, pair.up.f32(), pair.up.shape, {}, x, up);
  multiply(context, down, layer.geometry, x, inner.f32(), rank, false);
  const Input between{inner.f32(), 1, 1, pixels};
  multiply(context, up, {}, between, y.f32(), layer.out(), true);
}

void product(Context& context, const Layer& layer, const Input& x, Tensor& y) {
  const int64_t out = layer.out();
  const int64_t step = slice_rows(layer);
  device::Panel made;
  for (int64_t first = 0; first < out; first += step) {
    const int64_t count = std::min(step, out - first);
    const device::Panel& panel = panel_of(context, layer, first, count, x, made);
    multiply(context, panel, layer.geometry, x, y.f32() + first, out, false);
  }
  if (const Overlay* overlay = context.overlay_of(layer)) {
    for (const Term& term : overlay->terms) std::visit([&](const auto& t) { add_term(context, layer, t, x, y); }, term);
  }
  if (!layer.bias.empty())
    context.device.run(device::AddVector{layer.bias.data(), 1, y.elements() / out, out, y.f32(), out});
}

}  // namespace

int64_t slice_rows(const Layer& layer) {
  if (layer.geometry.groups > 1) return layer.out();
  const int64_t row_bytes = layer.weight.row_values() * static_cast<int64_t>(sizeof(float));
  const int64_t rows = std::max<int64_t>(kSliceBytes / row_bytes, 1);
  return std::min(layer.out(), std::max(rows / kSliceMultiple, int64_t{1}) * kSliceMultiple);
}

Tensor linear(Context& context, const Layer& layer, const Tensor& x) {
  VENEER_CHECK(x.shape.back() == layer.in());
  Shape shape = x.shape;
  shape[shape.rank() - 1] = layer.out();
  Tensor y = context.arena.allocate(shape);
  product(context, layer, {x.f32(), 1, 1, x.elements() / x.shape.back()}, y);
  return y;
}

Tensor conv2d(Context& context, const Layer& layer, const Tensor& x) {
  VENEER_CHECK(x.shape.rank() == 4 && x.shape[3] == layer.in());
  const Input input{x.f32(), x.shape[0], x.shape[1], x.shape[2]};
  Tensor y = context.arena.allocate({x.shape[0], layer.geometry.out_height(x.shape[1], layer.kernel()),
                                     layer.geometry.out_width(x.shape[2], layer.kernel()), layer.out()});
  product(context, layer, input, y);
  return y;
}

}  // namespace veneer::nn
