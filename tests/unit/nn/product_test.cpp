// The product of a layer against sums in double: bias, slices, cache and overlay terms on linear layers and
// convolutions.
#include "nn/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "device/devices.h"

namespace veneer::nn {
namespace {

using device::ConvGeometry;

std::vector<float> random_values(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

Layer make_layer(const Shape& shape, const ConvGeometry& geometry, bool bias, uint32_t seed,
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
std::vector<double> reference(const Layer& layer, const std::vector<float>& weight, const Shape& shape,
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
void expect_close(const Tensor& y, const std::vector<double>& expected, int64_t terms) {
  ASSERT_EQ(y.elements(), static_cast<int64_t>(expected.size()));
  const double allowed = 1e-6 * static_cast<double>(terms);
  for (int64_t i = 0; i < y.elements(); ++i) ASSERT_NEAR(y.f32()[i], expected[static_cast<size_t>(i)], allowed) << i;
}

class Product : public testing::TestWithParam<const char*> {
 protected:
  Tensor run(const Layer& layer, const Tensor& x, const OverlaySet* overlays = nullptr, size_t budget = 0) {
    PanelCache panels(budget);
    return run(layer, x, overlays, panels);
  }
  void SetUp() override { device_ = *device::open_device(GetParam(), 2, true); }
  Tensor run(const Layer& layer, const Tensor& x, const OverlaySet* overlays, PanelCache& panels) {
    device::Arena arena(size_t{64} << 20);
    Context context{*device_, arena, panels, overlays};
    return (layer.kind == LayerKind::kLinear ? linear(context, layer, x) : conv2d(context, layer, x)).clone();
  }
  std::unique_ptr<device::Device> device_;
};

TEST_P(Product, LinearWithBias) {
  const Layer layer = make_layer({70, 33}, {}, true, 1);
  const Tensor x = Tensor::from(random_values(5 * 33, 9), {1, 1, 5, 33});
  expect_close(run(layer, x), reference(layer, layer.weight.decode_all(), {70, 33}, x), 33);
}

TEST_P(Product, ConvolutionsOfEveryGeometry) {
  const struct {
    Shape shape;
    ConvGeometry geometry;
  } cases[] = {{{7, 5, 3, 3}, ConvGeometry::same(3)},
               {{7, 5, 3, 3}, ConvGeometry::same(3, 2)},
               {{7, 5, 3, 3}, {2, 0, 0, 1, 1, 1}},
               {{7, 5, 1, 1}, {}}};
  for (const auto& [shape, geometry] : cases) {
    const Layer layer = make_layer(shape, geometry, true, 2);
    const Tensor x = Tensor::from(random_values(2 * 9 * 6 * 5, 3), {2, 9, 6, 5});
    expect_close(run(layer, x), reference(layer, layer.weight.decode_all(), shape, x), 45);
  }
}

// 5000 inputs of float32: three slices of outputs, each decoded and multiplied for itself.
TEST_P(Product, SlicesGiveTheWhole) {
  const Layer layer = make_layer({1800, 5000}, {}, true, 4);
  ASSERT_GT(layer.out(), 2 * slice_rows(layer));
  const Tensor x = Tensor::from(random_values(3 * 5000, 5), {1, 1, 3, 5000});
  expect_close(run(layer, x), reference(layer, layer.weight.decode_all(), {1800, 5000}, x), 5000);
}

TEST_P(Product, TheCacheChangesNoBit) {
  const Layer layer = make_layer({1800, 5000}, {}, true, 4);
  const Tensor x = Tensor::from(random_values(3 * 5000, 5), {1, 1, 3, 5000});
  const Tensor plain = run(layer, x);
  for (const size_t budget : {size_t{20} << 20, size_t{100} << 20}) {  // room for one slice, and for all
    PanelCache panels(budget);
    for (int pass = 0; pass < 2; ++pass) {
      const Tensor cached = run(layer, x, nullptr, panels);
      EXPECT_EQ(std::memcmp(cached.data, plain.data, plain.bytes()), 0) << "budget " << budget << ", pass " << pass;
    }
    EXPECT_GT(panels.bytes(), 0u);
    EXPECT_LE(panels.bytes(), budget);
  }
}

OverlaySet one_pair(const Shape& down, const Shape& up, float scale, Pair& pair) {
  pair = {Tensor::from(random_values(static_cast<size_t>(down.elements()), 21), down),
          Tensor::from(random_values(static_cast<size_t>(up.elements()), 22), up)};
  for (float& value : pair.up.values()) value *= scale;
  auto overlay = std::make_shared<Overlay>();
  overlay->terms.push_back(pair);
  return {overlay};
}

// W + up down, flattened over inputs and kernel.
std::vector<float> merged(const Layer& layer, const Pair& pair) {
  std::vector<float> weight = layer.weight.decode_all();
  const int64_t rank = pair.up.shape[1], columns = pair.down.elements() / rank;
  for (int64_t o = 0; o < layer.out(); ++o)
    for (int64_t i = 0; i < columns; ++i) {
      double sum = weight[static_cast<size_t>(o * columns + i)];
      for (int64_t r = 0; r < rank; ++r)
        sum += static_cast<double>(pair.up.f32()[o * rank + r]) * pair.down.f32()[r * columns + i];
      weight[static_cast<size_t>(o * columns + i)] = static_cast<float>(sum);
    }
  return weight;
}

TEST_P(Product, PairsAddWhatTheMergedWeightWould) {
  const struct {
    Shape shape, down;
    ConvGeometry geometry;
  } cases[] = {{{24, 40}, {4, 40}, {}},
               {{7, 5, 3, 3}, {4, 5, 3, 3}, ConvGeometry::same(3)},
               {{7, 5, 3, 3}, {4, 5, 3, 3}, ConvGeometry::same(3, 2)},
               {{7, 5, 1, 1}, {4, 5, 1, 1}, {}}};
  for (const auto& [shape, down, geometry] : cases) {
    const Layer layer = make_layer(shape, geometry, true, 6);
    Pair pair;
    const OverlaySet overlays = one_pair(down, {shape[0], 4}, 0.5f, pair);
    const Tensor x = Tensor::from(random_values(static_cast<size_t>(2 * 9 * 6 * shape[1]), 3), {2, 9, 6, shape[1]});
    expect_close(run(layer, x, &overlays), reference(layer, merged(layer, pair), shape, x),
                 4 * layer.weight.row_values());
  }
}

// A weight of half precision times 1 and a term a thousand times below its last bit: nothing of the term may be lost,
// and taking it away must leave what was there before.
TEST_P(Product, ATermBelowThePrecisionOfTheWeightArrivesAndGoes) {
  Layer layer = make_layer({1, 32}, {}, false, 7);
  layer.weight = codec::weight_from(std::vector<float>(32, 0.25f), {1, 32}, *codec::find_codec("bf16"), "w");
  const Tensor x = Tensor::from(std::vector<float>(32, 1.0f), {1, 1, 1, 32});
  const auto overlay = std::make_shared<Overlay>();
  overlay->terms.push_back(
      Pair{Tensor::from(std::vector<float>(32, 1.0f), {1, 32}), Tensor::from(std::vector<float>{1e-6f}, {1, 1})});
  const OverlaySet overlays{overlay}, none{nullptr};
  EXPECT_NEAR(run(layer, x, &overlays).f32()[0], 8.0 + 32e-6, 1e-6);
  EXPECT_EQ(run(layer, x, &none).f32()[0], 8.0f);
}

INSTANTIATE_TEST_SUITE_P(Devices, Product, testing::Values("ref", "cpu"));

}  // namespace
}  // namespace veneer::nn
