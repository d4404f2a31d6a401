// Layers with random weights, and what they compute by definition, in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device/devices.h"
#include "nn/product.h"

namespace veneer::nn {

using device::ConvGeometry;

inline std::vector<float> random_values(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

inline Layer make_layer(const Shape& shape, const ConvGeometry& geometry, bool bias, uint32_t seed,
                        const char* codec = "f16") {
  Layer layer;
  layer.kind = shape.rank() == 4 ? LayerKind::kConv2d : LayerKind::kLinear;
  layer.name = "test.layer";
  layer.weight = codec::weight_from(random_values(static_cast<size_t>(shape.elements()), seed), shape,
                                    *codec::find_codec(codec), "w");
  if (bias) layer.bias = random_values(static_cast<size_t>(shape[0]), seed + 1);
  layer.geometry = geometry;
  return layer;
}

// sum over a layer's definition, in double; x [batch, height, width, in], `weight` as decoded.
template <typename Weight>
std::vector<double> reference(const Layer& layer, const std::vector<Weight>& weight, const Shape& shape,
                              const Tensor& x) {
  const int64_t kernel = shape.rank() == 4 ? shape[2] : 1, in = shape[1], out = shape[0];
  const int64_t height = layer.geometry.out_height(x.shape[1], kernel),
                width = layer.geometry.out_width(x.shape[2], kernel);
  std::vector<double> y;
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t r = 0; r < height; ++r)
      for (int64_t c = 0; c < width; ++c)
        for (int64_t o = 0; o < out; ++o) {
          double sum = layer.bias.empty() ? 0 : layer.bias[static_cast<size_t>(o)];
          for (int64_t i = 0; i < in; ++i)
            for (int64_t ky = 0; ky < kernel; ++ky)
              for (int64_t kx = 0; kx < kernel; ++kx) {
                const int64_t sy = r * layer.geometry.stride + ky - layer.geometry.pad_top;
                const int64_t sx = c * layer.geometry.stride + kx - layer.geometry.pad_left;
                if (sy < 0 || sx < 0 || sy >= x.shape[1] || sx >= x.shape[2]) continue;
                sum += static_cast<double>(x.f32()[((b * x.shape[1] + sy) * x.shape[2] + sx) * in + i]) *
                       weight[static_cast<size_t>(((o * in + i) * kernel + ky) * kernel + kx)];
              }
          y.push_back(sum);
        }
  return y;
}

// The error of a sum of `terms` float32 products of unit size.
inline void expect_close(const Tensor& y, const std::vector<double>& expected, int64_t terms) {
  ASSERT_EQ(y.elements(), static_cast<int64_t>(expected.size()));
  const double allowed = 1e-6 * static_cast<double>(terms);
  for (int64_t i = 0; i < y.elements(); ++i) ASSERT_NEAR(y.f32()[i], expected[static_cast<size_t>(i)], allowed) << i;
}

// A device with room to compute one layer.
class OneLayer : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { device_ = *device::open_device(GetParam(), 2, true); }
  Tensor run(const Layer& layer, const Tensor& x, const OverlaySet* overlays = nullptr, size_t budget = 0) {
    PanelCache panels(budget);
    return run(layer, x, overlays, panels);
  }
  Tensor run(const Layer& layer, const Tensor& x, const OverlaySet* overlays, PanelCache& panels) {
    device::Arena arena(size_t{64} << 20);
    Context context{*device_, arena, panels, overlays, compute_};
    return (layer.kind == LayerKind::kLinear ? linear(context, layer, x) : conv2d(context, layer, x)).clone();
  }
  std::unique_ptr<device::Device> device_;
  device::Compute compute_ = device::Compute::kF32;
};

}  // namespace veneer::nn
