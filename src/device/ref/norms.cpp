// Group and layer normalization by their definitions: mean, then variance, then the result.
#include <cmath>

#include "device/ref/kernels.h"

namespace veneer::device::ref {
namespace {

// What is normalized together: `count` x `width` values, rows `stride` apart.
struct Region {
  const float* x;
  float* y;
  int64_t count, width, stride;
};

// gain and bias are [width] or null.
void normalize(const Region& region, const float* gain, const float* bias, float epsilon, bool silu) {
  const auto [x, y, count, width, stride] = region;
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < width; ++c) mean += x[i * stride + c];
  mean /= static_cast<double>(count * width);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < width; ++c) variance += (x[i * stride + c] - mean) * (x[i * stride + c] - mean);
  variance /= static_cast<double>(count * width);

  const double scale = 1 / std::sqrt(variance + epsilon);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < width; ++c) {
      double value = (x[i * stride + c] - mean) * scale;
      if (gain) value *= gain[c];
      if (bias) value += bias[c];
      if (silu) value /= 1 + std::exp(-value);
      y[i * stride + c] = static_cast<float>(value);
    }
}

}  // namespace

void group_norm(Device&, const GroupNorm& norm) {
  const int64_t width = norm.channels / norm.groups;
  for (int64_t b = 0; b < norm.batch; ++b)
    for (int64_t g = 0; g < norm.groups; ++g) {
      const int64_t first = b * norm.pixels * norm.channels + g * width;
      normalize({norm.x + first, norm.y + first, norm.pixels, width, norm.channels}, norm.gain + g * width,
                norm.bias + g * width, norm.epsilon, norm.silu);
    }
}

void layer_norm(Device&, const LayerNorm& norm) {
  for (int64_t row = 0; row < norm.rows; ++row) {
    const int64_t first = row * norm.channels;
    normalize({norm.x + first, norm.y + first, 1, norm.channels, norm.channels}, norm.gain, norm.bias, norm.epsilon,
              false);
  }
}

}  // namespace veneer::device::ref
