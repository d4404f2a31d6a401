// Slice by slice: decode rows of the weight, fold in what is to be folded, pack, multiply.
#include "nn/base_product.h"

#include <algorithm>

#include "nn/product.h"
#include "nn/term_rows.h"

namespace veneer::nn {
namespace {

// Bytes of decoded weight in work at a time: small against memory, large enough that a product is not split in vain.
constexpr int64_t kSliceBytes = int64_t{16} << 20;
constexpr int64_t kSliceMultiple = 64;  // outputs; a whole number of the widest register blocks

// Rows [begin, end) of a slice that starts at `first`: gains times the decoded rows, plus the terms.
void fold(const Layer& layer, const Overlay& overlay, int64_t first, int64_t begin, int64_t end, float* rows,
          float* base) {
  const int64_t values = layer.weight.row_values();
  float* const from = rows + begin * values;
  if (base) std::copy_n(from, (end - begin) * values, base + begin * values);
  if (!overlay.gain_out.empty()) {
    for (int64_t row = begin; row < end; ++row) {
      const float gain = overlay.gain_out[static_cast<size_t>(first + row)];
      for (int64_t i = 0; i < values; ++i) rows[row * values + i] *= gain;
    }
  }
  for (const Addend& addend : overlay.folded)
    add_term_rows(addend.term, values, first + begin, end - begin, addend.factor,
                  base ? base + begin * values : nullptr, from);
}

void decode(Context& context, const Layer& layer, const Overlay* overlay, int64_t first, int64_t count, float* rows) {
  const int64_t values = layer.weight.row_values();
  const bool folds = overlay && !overlay->folded.empty();
  const bool keeps_base = folds && std::ranges::any_of(overlay->folded, needs_base, &Addend::term);
  Tensor base = keeps_base ? context.arena.allocate({count * values}) : Tensor();
  if (context.measuring()) return;
  const codec::Weight& weight = overlay ? overlay->weight_of(layer) : layer.weight;
  for_row_tasks(count, values, [&](int64_t begin, int64_t end) {
    weight.decode_rows(first + begin, end - begin, rows + begin * values);
    if (folds) fold(layer, *overlay, first, begin, end, rows, keeps_base ? base.f32() : nullptr);
  });
}

// The slice [first, first + count) of the layer's outputs, from the cache or made now. `made` holds what was made.
const device::Panel& panel_of(Context& context, const Layer& layer, const Overlay* overlay, int64_t first,
                              int64_t count, const Input& x, device::Panel& made) {
  const void* key = overlay && overlay->has_own_panels() ? static_cast<const void*>(overlay) : &layer;
  if (const device::Panel* cached = context.panels.find(key, first); cached && cached->suits(x.rows())) return *cached;
  Tensor scratch = context.arena.allocate({count * layer.weight.row_values()});
  decode(context, layer, overlay, first, count, scratch.f32());
  // A cached panel must own its memory, so that of the last slice is used again only when it was not kept.
  pack(context, scratch.f32(), panel_shape(layer, count), layer.geometry, x, made, context.compute);
  if (context.panels.keep(key, first, made)) {
    made = {};
    return *context.panels.find(key, first);
  }
  return made;
}

}  // namespace

void pack(Context& context, const float* values, const Shape& shape, const device::ConvGeometry& geometry,
          const Input& x, device::Panel& panel, device::Compute compute) {
  if (shape.rank() == 4) {
    context.device.run(device::PackConv{values, shape, geometry, x.batch, x.height, x.width, &panel, compute});
  } else {
    context.device.run(device::PackMatmul{values, shape[0], shape.elements() / shape[0], &panel, compute});
  }
}

void multiply(Context& context, const device::Panel& panel, const device::ConvGeometry& geometry, const Input& x,
              Output y, bool accumulate) {
  if (panel.shape.rank() == 4) {
    context.device.run(
        device::Conv{x.data, x.batch, x.height, x.width, &panel, geometry, y.data, y.stride, accumulate});
  } else {
    context.device.run(device::Matmul{x.data, x.rows(), panel.shape[1], &panel, y.data, y.stride, accumulate});
  }
}

Shape panel_shape(const Layer& layer, int64_t rows) {
  if (layer.kind != LayerKind::kConv2d || layer.is_pointwise()) return {rows, layer.weight.row_values()};
  Shape shape = layer.weight.shape;
  shape[0] = rows;
  return shape;
}

int64_t slice_rows(const Layer& layer) {
  if (layer.geometry.groups > 1) return layer.out();
  const int64_t row_bytes = layer.weight.row_values() * static_cast<int64_t>(sizeof(float));
  const int64_t rows = std::max<int64_t>(kSliceBytes / row_bytes, 1);
  return std::min(layer.out(), std::max(rows / kSliceMultiple, int64_t{1}) * kSliceMultiple);
}

void base_product(Context& context, const Layer& layer, const Overlay* overlay, const Input& x, Output y,
                  bool accumulate) {
  const int64_t out = layer.out(), step = slice_rows(layer);
  device::Panel made;
  for (int64_t first = 0; first < out; first += step) {
    const device::Panel& panel = panel_of(context, layer, overlay, first, std::min(step, out - first), x, made);
    multiply(context, panel, layer.geometry, x, {y.data + first, y.stride}, accumulate);
  }
}

}  // namespace veneer::nn
