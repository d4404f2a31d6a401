// What overlays do to rows of activations: gains, rotations, the outer half of a Kronecker product, differences.
#include "device/ref/kernels.h"

namespace veneer::device::ref {

void scale_columns(Device&, const ScaleColumns& scale) {
  for (int64_t r = 0; r < scale.rows; ++r)
    for (int64_t c = 0; c < scale.channels; ++c)
      scale.y[r * scale.stride + c] = scale.factors[c] * scale.x[r * scale.stride + c];
}

void rotate_columns(Device&, const RotateColumns& rotate) {
  const int64_t n = rotate.n;
  const auto channel = [&](int64_t position) { return rotate.order ? rotate.order[position] : position; };
  for (int64_t r = 0; r < rotate.rows; ++r) {
    const float* x = rotate.x + r * rotate.stride;
    float* y = rotate.y + r * rotate.stride;
    for (int64_t first = 0; first < rotate.channels; first += n)
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) sum += double{rotate.blocks[(first + j) * n + i]} * x[channel(first + j)];
        y[channel(first + i)] = static_cast<float>(sum);
      }
  }
}

void mix_groups(Device&, const MixGroups& mix) {
  for (int64_t r = 0; r < mix.rows; ++r)
    for (int64_t p = 0; p < mix.out_groups; ++p)
      for (int64_t u = 0; u < mix.width; ++u) {
        double sum = 0;
        for (int64_t q = 0; q < mix.in_groups; ++q)
          sum += double{mix.left[p * mix.in_groups + q]} * mix.x[(r * mix.in_groups + q) * mix.width + u];
        float& y = mix.y[r * mix.y_stride + p * mix.width + u];
        y = static_cast<float>(y + mix.scale * sum);
      }
}

void add_difference(Device&, const AddDifference& add) {
  for (int64_t i = 0; i < add.count; ++i)
    add.y[i] = static_cast<float>(add.y[i] + double{add.scale} * (double{add.a[i]} - add.b[i]));
}

}  // namespace veneer::device::ref
