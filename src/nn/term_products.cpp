// Products of terms. The strength is worked into the smaller factor each time: it is one number beside the term.
#include "nn/term_products.h"

#include <algorithm>

#include "nn/operations.h"
#include "nn/product.h"
#include "nn/term_rows.h"

namespace veneer::nn {
namespace {

int64_t pixels_of(const Layer& layer, const Tensor& x) {
  const Input input = input_of(layer, x);
  if (layer.kind != LayerKind::kConv2d) return input.rows();
  return input.batch * layer.geometry.out_height(input.height, layer.kernel()) *
         layer.geometry.out_width(input.width, layer.kernel());
}

Tensor scaled(Context& context, const Tensor& values, float factor) {
  Tensor copy = context.arena.allocate(values.shape);
  if (!context.measuring())
    std::transform(values.f32(), values.f32() + values.elements(), copy.f32(), [&](float v) { return v * factor; });
  return copy;
}

// y = or += values x, packed for this one use.
void multiply_by(Context& context, const Tensor& values, const Shape& shape, const device::ConvGeometry& geometry,
                 const Input& x, Output y, bool accumulate) {
  device::Panel panel;
  pack(context, values.f32(), shape, geometry, x, panel);
  multiply(context, panel, geometry, x, y, accumulate);
}

// [rank, ...] as a panel of a layer of this kind.
Shape factor_shape(const Layer& layer, const Tensor& factor) {
  if (layer.kind == LayerKind::kConv2d && !layer.is_pointwise()) return factor.shape;
  return {factor.shape[0], factor.elements() / factor.shape[0]};
}

void add_pair(Context& context, const Layer& layer, const Pair& pair, float factor, const Tensor& x, Output y) {
  const int64_t rank = pair.up.shape[1], pixels = pixels_of(layer, x);
  Tensor inner = context.arena.allocate({pixels, rank});
  multiply_by(context, pair.down, factor_shape(layer, pair.down), layer.geometry, input_of(layer, x),
              {inner.f32(), rank}, false);
  const Tensor up = scaled(context, pair.up, factor * pair.scale);
  multiply_by(context, up, up.shape, {}, {inner.f32(), 1, 1, pixels}, y, true);
}

// The right factor on each group of inputs, then the left one across the groups.
void add_kron(Context& context, const Layer& layer, const Kron& kron, float factor, const Tensor& x, Output y) {
  const int64_t groups = kron.left.shape[1], pixels = pixels_of(layer, x), inner = kron.right_down.shape[0];
  Tensor z = context.arena.allocate({pixels, groups, inner});
  if (layer.kind == LayerKind::kConv2d && !layer.is_pointwise()) {
    // Every group of channels meets the same kernel: a grouped convolution with the kernel repeated.
    Shape shape = kron.right_down.shape;
    shape[0] = groups * inner;
    Tensor repeated = context.arena.allocate(shape);
    if (!context.measuring())
      for (int64_t q = 0; q < groups; ++q)
        std::copy_n(kron.right_down.f32(), kron.right_down.elements(), repeated.f32() + q * kron.right_down.elements());
    device::ConvGeometry geometry = layer.geometry;
    geometry.groups = groups;
    multiply_by(context, repeated, shape, geometry, input_of(layer, x), {z.f32(), groups * inner}, false);
  } else {
    const Input rows{x.f32(), 1, 1, pixels * groups};
    multiply_by(context, kron.right_down, factor_shape(layer, kron.right_down), {}, rows, {z.f32(), inner}, false);
  }
  int64_t width = inner;
  if (!kron.right_up.empty()) {
    width = kron.right_up.shape[0];
    Tensor wider = context.arena.allocate({pixels, groups, width});
    multiply_by(context, kron.right_up, kron.right_up.shape, {}, {z.f32(), 1, 1, pixels * groups}, {wider.f32(), width},
                false);
    z = wider;
  }
  context.device.run(device::MixGroups{z.f32(), pixels, width, kron.left.f32(), kron.left.shape[0], groups,
                                       factor * kron.scale, y.data, y.stride});
}

// A product of its own with panels made of the delta alone.
void add_dense(Context& context, const Layer& layer, const Dense& dense, float factor, const Tensor& x, Output y) {
  const int64_t values = layer.weight.row_values(), out = layer.out(), step = slice_rows(layer);
  device::Panel panel;
  for (int64_t first = 0; first < out; first += step) {
    const int64_t count = std::min(step, out - first);
    const device::RowSource::Make rows = [&](int64_t begin, int64_t n, float* delta) {
      std::vector<float> base(static_cast<size_t>(dense.needs_base ? n * values : 0));
      if (dense.needs_base) layer.weight.decode_rows(first + begin, n, base.data());
      std::fill_n(delta, n * values, 0.0f);
      add_term_rows(dense, values, first + begin, n, factor, base.data(), delta);
    };
    pack(context, rows, panel_shape(layer, count), layer.geometry, input_of(layer, x), panel);
    multiply(context, panel, layer.geometry, input_of(layer, x), {y.data + first, y.stride}, true);
  }
}

// Of columns [first, first + channels of the term) of all rows.
void scale_columns(Context& context, const Gain& gain, const Tensor& x, int64_t first, Tensor& y) {
  const int64_t stride = x.shape.back();
  context.device.run(device::ScaleColumns{x.f32() + first, x.elements() / stride, gain.factors.elements(), stride,
                                          gain.factors.f32(), y.f32() + first});
}

void rotate_columns(Context& context, const Rotate& rotate, const Tensor& x, int64_t first, Tensor& y) {
  const int64_t n = rotate.blocks.shape[1], stride = x.shape.back();
  context.device.run(device::RotateColumns{x.f32() + first, x.elements() / stride, rotate.blocks.shape[0] * n, stride,
                                           rotate.blocks.f32(), n, rotate.order.empty() ? nullptr : rotate.order.data(),
                                           y.f32() + first});
}

// x after a term: itself, unless the term acts on the input side.
Tensor turned_input(Context& context, const Term& term, const Tensor& x) {
  const int64_t channels = x.shape.back(), rows = x.elements() / channels;
  if (const Pair* pair = std::get_if<Pair>(&term); pair && pair->side == Side::kInput) {
    const int64_t rank = pair->up.shape[1];
    Tensor inner = context.arena.allocate({rows, rank}), turned = copy(context, x);
    multiply_by(context, pair->down, {rank, channels}, {}, {x.f32(), 1, 1, rows}, {inner.f32(), rank}, false);
    const Tensor up = scaled(context, pair->up, pair->scale);
    multiply_by(context, up, up.shape, {}, {inner.f32(), 1, 1, rows}, {turned.f32(), channels}, true);
    return turned;
  }
  if (const Gain* gain = std::get_if<Gain>(&term); gain && gain->side == Side::kInput) {
    Tensor turned = context.arena.allocate(x.shape);
    scale_columns(context, *gain, x, 0, turned);
    return turned;
  }
  if (const Rotate* rotate = std::get_if<Rotate>(&term); rotate && rotate->side == Side::kInput) {
    Tensor turned = context.arena.allocate(x.shape);
    rotate_columns(context, *rotate, x, 0, turned);
    return turned;
  }
  return x;
}

}  // namespace

Input input_of(const Layer& layer, const Tensor& x) {
  if (layer.kind == LayerKind::kConv2d) return {x.f32(), x.shape[0], x.shape[1], x.shape[2]};
  return {x.f32(), 1, 1, x.elements() / x.shape.back()};
}

void add_term_product(Context& context, const Layer& layer, const Term& term, float factor, const Tensor& x, Output y) {
  if (const Pair* pair = std::get_if<Pair>(&term)) return add_pair(context, layer, *pair, factor, x, y);
  if (const Kron* kron = std::get_if<Kron>(&term)) return add_kron(context, layer, *kron, factor, x, y);
  if (const Dense* dense = std::get_if<Dense>(&term)) return add_dense(context, layer, *dense, factor, x, y);
  VENEER_CHECK(false);
}

std::vector<Tensor> inputs_of(Context& context, const Program& program, const Tensor& x) {
  std::vector<Tensor> inputs{x};
  for (const Term& term : program.terms) inputs.push_back(turned_input(context, term, inputs.back()));
  return inputs;
}

void run_program(Context& context, const Layer& layer, const Program& program, std::span<const Tensor> inputs,
                 Tensor& z) {
  for (size_t i = 0; i < program.terms.size(); ++i) {
    const Term& term = program.terms[i];
    if (is_additive(term)) {
      add_term_product(context, layer, term, 1.0f, inputs[i], {z.f32() + program.first_row, z.shape.back()});
    } else if (const Gain* gain = std::get_if<Gain>(&term); gain && gain->side == Side::kOutput) {
      scale_columns(context, *gain, z, program.first_row, z);
    } else if (const Rotate* rotate = std::get_if<Rotate>(&term); rotate && rotate->side == Side::kOutput) {
      Tensor next = copy(context, z);
      rotate_columns(context, *rotate, z, program.first_row, next);
      z = next;
    }
  }
}

}  // namespace veneer::nn
