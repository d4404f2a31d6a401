// Operations that treat each value for itself, and those that only move values.
#include <cmath>
#include <numbers>

#include "device/ref/kernels.h"

namespace veneer::device::ref {
namespace {

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

double activated(Activation kind, double x) {
  switch (kind) {
    case Activation::kSilu: return x / (1 + std::exp(-x));
    case Activation::kGelu: return gelu(x);
    case Activation::kGeluTanh: {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    }
    case Activation::kQuickGelu: return x / (1 + std::exp(-1.702 * x));
    case Activation::kRelu: return x < 0 ? 0 : x;
    case Activation::kTanhThird: return 3 * std::tanh(x / 3);
  }
  return x;
}

}  // namespace

void activate(Device&, const Activate& activate) {
  for (int64_t i = 0; i < activate.count; ++i)
    activate.y[i] = static_cast<float>(activated(activate.kind, activate.x[i]));
}

void geglu(Device&, const Geglu& geglu) {
  for (int64_t row = 0; row < geglu.rows; ++row) {
    const float* x = geglu.x + row * 2 * geglu.channels;
    float* y = geglu.y + row * geglu.channels;
    for (int64_t c = 0; c < geglu.channels; ++c) y[c] = static_cast<float>(x[c] * gelu(x[geglu.channels + c]));
  }
}

void add_scaled(Device&, const AddScaled& add) {
  for (int64_t i = 0; i < add.count; ++i) add.y[i] = static_cast<float>(add.y[i] + double{add.scale} * add.x[i]);
}

void add_vector(Device&, const AddVector& add) {
  for (int64_t b = 0; b < add.batch; ++b)
    for (int64_t p = 0; p < add.pixels; ++p)
      for (int64_t c = 0; c < add.channels; ++c)
        add.y[(b * add.pixels + p) * add.y_stride + c] += add.x[b * add.channels + c];
}

void upsample(Device&, const Upsample& upsample) {
  for (int64_t b = 0; b < upsample.batch; ++b)
    for (int64_t h = 0; h < upsample.out_height; ++h)
      for (int64_t w = 0; w < upsample.out_width; ++w) {
        const int64_t from = (b * upsample.height + h / 2) * upsample.width + w / 2;
        const int64_t to = (b * upsample.out_height + h) * upsample.out_width + w;
        for (int64_t c = 0; c < upsample.channels; ++c)
          upsample.y[to * upsample.channels + c] = upsample.x[from * upsample.channels + c];
      }
}

void concat_channels(Device&, const Concat& concat) {
  const int64_t width = concat.a_channels + concat.b_channels;
  for (int64_t row = 0; row < concat.rows; ++row) {
    float* y = concat.y + row * width;
    for (int64_t c = 0; c < concat.a_channels; ++c) y[c] = concat.a[row * concat.a_channels + c];
    for (int64_t c = 0; c < concat.b_channels; ++c) y[concat.a_channels + c] = concat.b[row * concat.b_channels + c];
  }
}

}  // namespace veneer::device::ref
