// Slice by slice: decode rows of the weight, fold in what is to be folded, pack, multiply.
#include "nn/base_product.h"

#include <algorithm>
#include <utility>

#include "nn/product.h"
#include "nn/term_rows.h"

namespace veneer::nn {
namespace {

// Bytes of decoded weight in work at a time: small against memory, large enough that a product is not split in vain.
constexpr int64_t kSliceBytes = int64_t{16} << 20;
constexpr int64_t kSliceMultiple = 64;  // outputs; a whole number of the widest register blocks

// Rows [first, first + count): gains times the decoded rows, plus the terms.
void fold(const Layer& layer, const Overlay& overlay, int64_t first, int64_t count, float* rows) {
  const int64_t values = layer.weight.row_values();
  std::vector<float> base;
  if (std::ranges::any_of(overlay.folded, needs_base, &Addend::term)) base.assign(rows, rows + count * values);
  if (!overlay.gain_out.empty()) {
    for (int64_t row = 0; row < count; ++row) {
      const float gain = overlay.gain_out[static_cast<size_t>(first + row)];
      for (int64_t i = 0; i < values; ++i) rows[row * values + i] *= gain;
    }
  }
  for (const Addend& addend : overlay.folded)
    add_term_rows(addend.term, values, first, count, addend.factor, base.data(), rows);
}

void decode(const Layer& layer, const Overlay* overlay, int64_t first, int64_t count, float* rows) {
  const codec::Weight& weight = overlay ? overlay->weight_of(layer) : layer.weight;
  weight.decode_rows(first, count, rows);
  if (overlay && !overlay->folded.empty()) fold(layer, *overlay, first, count, rows);
}

// The slice [first, first + count) of the layer's outputs, from the cache or made now.
const device::Panel& panel_of(Context& context, const Layer& layer, const Overlay* overlay, int64_t first,
                              int64_t count, const Input& x) {
  const void* key = overlay && overlay->has_own_panels() ? static_cast<const void*>(overlay) : &layer;
  if (const device::Panel* cached = context.panels.find(key, first); cached && cached->suits(x.rows())) return *cached;
  const device::RowSource::Make rows = [&](int64_t begin, int64_t n, float* out) {
    decode(layer, overlay, first + begin, n, out);
  };
  const auto make = [&](device::Panel& panel) {
    pack(context, rows, panel_shape(layer, count), layer.geometry, x, panel, context.compute);
  };
  device::Panel& spare = context.panels.spare();
  const size_t least = static_cast<size_t>(count * layer.weight.row_values()) * sizeof(uint16_t);
  if (context.panels.room() >= least) {  // a cached panel owns memory of its own size
    device::Panel fresh;
    make(fresh);
    if (context.panels.keep(key, first, fresh)) return *context.panels.find(key, first);
    spare = std::move(fresh);
  } else {
    make(spare);
  }
  return spare;
}

}  // namespace

void pack(Context& context, const device::RowSource& values, const Shape& shape, const device::ConvGeometry& geometry,
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
  for (int64_t first = 0; first < out; first += step) {
    const device::Panel& panel = panel_of(context, layer, overlay, first, std::min(step, out - first), x);
    multiply(context, panel, layer.geometry, x, {y.data + first, y.stride}, accumulate);
  }
}

}  // namespace veneer::nn
