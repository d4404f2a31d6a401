// What transformers of images do between their products, by definition: root-mean-square norms, modulation by vectors,
// gated sums, and rotary positions.
#include <cmath>

#include "device/ref/kernels.h"

namespace veneer::device::ref {

void rms_norm(Device&, const RmsNorm& norm) {
  for (int64_t row = 0; row < norm.rows; ++row)
    for (int64_t head = 0; head < norm.heads; ++head) {
      const int64_t first = row * norm.stride + head * norm.channels;
      const float* x = norm.x + first;
      double square = 0;
      for (int64_t c = 0; c < norm.channels; ++c) square += double{x[c]} * x[c];
      const double scale = 1 / std::sqrt(square / static_cast<double>(norm.channels) + norm.epsilon);
      for (int64_t c = 0; c < norm.channels; ++c) norm.y[first + c] = static_cast<float>(x[c] * scale * norm.gain[c]);
    }
}

void modulate(Device&, const Modulate& op) {
  for (int64_t row = 0; row < op.batch * op.tokens; ++row) {
    const int64_t vector = row / op.tokens * op.vector_stride, first = row * op.channels;
    for (int64_t c = 0; c < op.channels; ++c)
      op.y[first + c] = static_cast<float>(op.x[first + c] * (1 + double{op.scale[vector + c]}) + op.shift[vector + c]);
  }
}

void add_gated(Device&, const AddGated& op) {
  for (int64_t row = 0; row < op.batch * op.tokens; ++row) {
    const int64_t gate = row / op.tokens * op.gate_stride, first = row * op.channels;
    for (int64_t c = 0; c < op.channels; ++c)
      op.y[first + c] = static_cast<float>(op.y[first + c] + double{op.gate[gate + c]} * op.x[first + c]);
  }
}

void multiply(Device&, const Multiply& op) {
  for (int64_t i = 0; i < op.count; ++i) op.y[i] = op.a[i] * op.b[i];
}

void rotate_pairs(Device&, const RotatePairs& op) {
  const int64_t half = op.head_width / 2;
  for (int64_t row = 0; row < op.batch * op.tokens; ++row) {
    const int64_t angles = row % op.tokens * half;
    for (int64_t head = 0; head < op.heads; ++head)
      for (int64_t k = 0; k < half; ++k) {
        const int64_t at = row * op.stride + head * op.head_width + 2 * k;
        const double cosine = op.cosines[angles + k], sine = op.sines[angles + k];
        const double even = op.x[at], odd = op.x[at + 1];
        op.y[at] = static_cast<float>(even * cosine - odd * sine);
        op.y[at + 1] = static_cast<float>(odd * cosine + even * sine);
      }
  }
}

}  // namespace veneer::device::ref
