// The base product, then what the overlay adds and turns, then the bias.
#include "nn/product.h"

#include <algorithm>

#include "nn/operations.h"
#include "nn/term_products.h"
#include "nn/term_rows.h"

namespace veneer::nn {
namespace {

void add_difference(Context& context, const Tensor& a, const Tensor& b, float scale, Tensor& y) {
  context.device.run(device::AddDifference{a.f32(), b.f32(), a.elements(), scale, y.f32()});
}

Tensor zeros(Context& context, const Shape& shape) {
  Tensor tensor = context.arena.allocate(shape);
  if (!context.measuring()) std::fill_n(tensor.f32(), tensor.elements(), 0.0f);
  return tensor;
}

// Runs the programs that turn only the input: their additive terms go to y at once, their changes of x into `change`.
void run_shifts(Context& context, const Layer& layer, const Overlay& overlay, const Tensor& x, Tensor& y,
                Tensor& change) {
  for (const Program& program : overlay.shifts) {
    const std::vector<Tensor> inputs = inputs_of(context, program, x);
    for (size_t i = 0; i < program.terms.size(); ++i) {
      if (!is_additive(program.terms[i])) continue;
      add_term_product(context, layer, program.terms[i], program.amount, inputs[i],
                       {y.f32() + program.first_row, layer.out()});
    }
    add_difference(context, inputs.back(), x, program.amount, change);
  }
}

// The columns of `to` that a program is not about become those of `from`.
void keep_other_columns(Context& context, const Program& program, const Tensor& from, Tensor& to) {
  if (program.rows == 0 || context.measuring()) return;
  const int64_t width = to.shape.back(), end = program.first_row + program.rows;
  for (int64_t row = 0; row < to.elements() / width; ++row) {
    std::copy_n(from.f32() + row * width, program.first_row, to.f32() + row * width);
    std::copy_n(from.f32() + row * width + end, width - end, to.f32() + row * width + end);
  }
}

// y += amount * (z - y0) for each program that turns outputs.
void run_turns(Context& context, const Layer& layer, const Overlay& overlay, const Tensor& x, const Tensor& y0,
               Tensor& y) {
  for (const Program& program : overlay.turns) {
    const std::vector<Tensor> inputs = inputs_of(context, program, x);
    Tensor z;
    if (std::none_of(program.terms.begin(), program.terms.end(), acts_on_input)) {
      z = copy(context, y0);
    } else {
      z = context.arena.allocate(y.shape);
      base_product(context, layer, &overlay, input_of(layer, inputs.back()), {z.f32(), layer.out()}, false);
    }
    run_program(context, layer, program, inputs, z);
    keep_other_columns(context, program, y0, z);
    add_difference(context, z, y0, program.amount, y);
  }
}

// x times the weight as the first `count` programs of the chain leave it.
Tensor chained(Context& context, const Layer& layer, const Overlay& overlay, size_t count, const Tensor& x,
               const Shape& shape) {
  if (count == 0) {
    Tensor y = context.arena.allocate(shape);
    base_product(context, layer, &overlay, input_of(layer, x), {y.f32(), layer.out()}, false);
    return y;
  }
  const Program& program = overlay.chain[count - 1];
  const std::vector<Tensor> inputs = inputs_of(context, program, x);
  const bool turns_input = std::any_of(program.terms.begin(), program.terms.end(), acts_on_input);
  Tensor y = chained(context, layer, overlay, count - 1, x, shape);
  Tensor z = turns_input ? chained(context, layer, overlay, count - 1, inputs.back(), shape) : copy(context, y);
  run_program(context, layer, program, inputs, z);
  const Tensor before = copy(context, y);
  keep_other_columns(context, program, before, z);
  add_difference(context, z, before, program.amount, y);
  return y;
}

// W x with everything that acts on x or on W x itself.
void turned_product(Context& context, const Layer& layer, const Overlay& overlay, const Tensor& x, Tensor& y) {
  const Output out{y.f32(), layer.out()};
  // A changed x is one product where nothing reads W x itself, and where rounding it does not lose the change.
  const bool apart = overlay.turns_output() || context.compute != device::Compute::kF32;
  if (overlay.shifts.empty() && overlay.turns.empty()) {
    base_product(context, layer, &overlay, input_of(layer, x), out, false);
  } else if (!apart) {
    // Input-side terms are linear: one product of the changed x is the sum of all.
    Tensor changed = copy(context, x), additions = zeros(context, y.shape);
    run_shifts(context, layer, overlay, x, additions, changed);
    base_product(context, layer, &overlay, input_of(layer, changed), out, false);
    add_(context, y, additions);
  } else {
    base_product(context, layer, &overlay, input_of(layer, x), out, false);
  }
  if (!apart) return;
  const Tensor y0 = overlay.turns.empty() ? Tensor() : copy(context, y);
  if (!overlay.gain_out.empty() && overlay.folded.empty())
    context.device.run(device::ScaleColumns{y.f32(), y.elements() / layer.out(), layer.out(), layer.out(),
                                            overlay.gain_out.data(), y.f32()});
  run_turns(context, layer, overlay, x, y0, y);
  if (overlay.shifts.empty()) return;
  Tensor change = zeros(context, x.shape);
  run_shifts(context, layer, overlay, x, y, change);
  base_product(context, layer, &overlay, input_of(layer, change), out, true);
}

void product(Context& context, const Layer& layer, const Tensor& x, Tensor& y) {
  const Overlay* overlay = context.overlay_of(layer);
  if (overlay && !overlay->chain.empty()) {
    y = chained(context, layer, *overlay, overlay->chain.size(), x, y.shape);
  } else if (overlay) {
    turned_product(context, layer, *overlay, x, y);
    for (const Addend& addend : overlay->beside)
      add_term_product(context, layer, addend.term, addend.factor, x, {y.f32() + addend.first_row, layer.out()});
  } else {
    base_product(context, layer, nullptr, input_of(layer, x), {y.f32(), layer.out()}, false);
  }
  const std::vector<float>& bias = overlay && overlay->bias ? *overlay->bias : layer.bias;
  if (!bias.empty())
    context.device.run(
        device::AddVector{bias.data(), 1, y.elements() / layer.out(), layer.out(), y.f32(), layer.out()});
}

}  // namespace

Tensor linear(Context& context, const Layer& layer, const Tensor& x) {
  VENEER_CHECK(x.shape.back() == layer.in());
  Shape shape = x.shape;
  shape[shape.rank() - 1] = layer.out();
  Tensor y = context.arena.allocate(shape);
  product(context, layer, x, y);
  return y;
}

Tensor linear_once(Context& context, const Layer& layer, const Tensor& x) {
  if (context.kept && !context.measuring())
    if (const Tensor* kept = context.kept->find(layer)) return *kept;
  const Tensor y = linear(context, layer, x);
  if (context.measuring())
    context.kept_bytes += y.bytes();
  else if (context.kept)
    context.kept->keep(layer, y);
  return y;
}

Tensor conv2d(Context& context, const Layer& layer, const Tensor& x) {
  VENEER_CHECK(x.shape.rank() == 4 && x.shape[3] == layer.in());
  Tensor y = context.arena.allocate({x.shape[0], layer.geometry.out_height(x.shape[1], layer.kernel()),
                                     layer.geometry.out_width(x.shape[2], layer.kernel()), layer.out()});
  product(context, layer, x, y);
  return y;
}

}  // namespace veneer::nn
