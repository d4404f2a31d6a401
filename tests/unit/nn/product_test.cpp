// The product of a layer against sums in double: bias, slices and the cache, on linear layers and convolutions.
// overlay_test.cpp has what is laid over layers.
#include <cstring>

#include "one_layer.h"

namespace veneer::nn {
namespace {

class Product : public OneLayer {};

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

// Whatever x is later, where products are kept; counted beforehand, and computed each time where none are.
TEST_P(Product, OfTheSameInputIsKept) {
  const Layer layer = make_layer({7, 5}, {}, true, 8);
  const Tensor first = Tensor::from(random_values(2 * 5, 9), {2, 5}),
               other = Tensor::from(random_values(10, 10), {2, 5});
  PanelCache panels(0);
  device::Arena arena(size_t{1} << 20);
  KeptProducts kept;
  Context context{*device_, arena, panels};
  const auto product_of = [&](const Tensor& x) {
    const Tensor y = linear_once(context, layer, x);
    return std::vector<float>(y.values().begin(), y.values().end());
  };
  const std::vector<float> of_first = product_of(first), of_other = product_of(other);
  EXPECT_NE(of_first, of_other);
  context.kept = &kept;
  EXPECT_EQ(product_of(first), of_first);
  EXPECT_EQ(product_of(other), of_first);
  EXPECT_EQ(context.kept_bytes, 0u);

  const auto dry = device::make_dry_device();
  device::Arena measure = device::Arena::measuring();
  KeptProducts none;
  Context measuring{*dry, measure, panels};
  measuring.kept = &none;
  linear_once(measuring, layer, first);
  EXPECT_EQ(measuring.kept_bytes, 2 * 7 * sizeof(float));
  EXPECT_EQ(none.find(layer), nullptr);
}

// A panel that was kept for one size of input is made anew where another size is computed in another way.
TEST_P(Product, WhatWasComputedBeforeChangesNoBit) {
  device_ = *device::open_device(GetParam(), 2, false);
  const Layer layer = make_layer({32, 32, 3, 3}, ConvGeometry::same(3), true, 6);
  const auto input = [](int64_t size) {
    return Tensor::from(random_values(static_cast<size_t>(size * size * 32), 7), {1, size, size, 32});
  };
  PanelCache panels(size_t{1} << 20);
  for (const int64_t size : {40, 8, 20, 8, 40}) {
    const Tensor x = input(size), plain = run(layer, x), after = run(layer, x, nullptr, panels);
    EXPECT_EQ(std::memcmp(after.data, plain.data, plain.bytes()), 0) << size;
    const device::Panel* kept = panels.find(&layer, 0);
    ASSERT_TRUE(kept);
    EXPECT_TRUE(kept->suits(size * size));
    EXPECT_EQ(panels.bytes(), kept->bytes);
  }
}

// A weight of half precision times 1 and a term a thousand times below its last bit: nothing of the term may be lost,
// and taking it away must leave what was there before.
TEST_P(Product, ATermBelowThePrecisionOfTheWeightArrivesAndGoes) {
  Layer layer = make_layer({1, 32}, {}, false, 7);
  layer.weight = codec::weight_from(std::vector<float>(32, 0.25f), {1, 32}, *codec::find_codec("bf16"), "w");
  const Tensor x = Tensor::from(std::vector<float>(32, 1.0f), {1, 1, 1, 32});
  const Program program{
      {Pair{Tensor::from(std::vector<float>(32, 1.0f), {1, 32}), Tensor::from(std::vector<float>{1e-6f}, {1, 1})}}};
  const OverlaySet overlays{make_overlay(layer, {&program, 1}, {.fold_pairs = false})}, none{nullptr};
  EXPECT_NEAR(run(layer, x, &overlays).f32()[0], 8.0 + 32e-6, 1e-6);
  EXPECT_EQ(run(layer, x, &none).f32()[0], 8.0f);
}

// Where the base product rounds its factors, what adapters do is not rounded with them: a term far below the last bit
// of a weight, and a change of the input below the last bit of the input.
TEST_P(Product, ChangesBelowThePrecisionOfBf16ComputeArrive) {
  device_ = *device::open_device(GetParam(), 2, false);
  if (!device_->can_compute(device::Compute::kBf16)) {
    EXPECT_FALSE(contains(device_->description(), "BF16"));
    return;
  }
  compute_ = device::Compute::kBf16;
  Layer layer = make_layer({1, 32}, {}, false, 7);
  layer.weight = codec::weight_from(std::vector<float>(32, 0.25f), {1, 32}, *codec::find_codec("f32"), "w");
  const Tensor x = Tensor::from(std::vector<float>(32, 1.0f), {1, 1, 1, 32});
  const auto with = [&](Term term) {
    const Program program{{std::move(term)}};
    const OverlaySet overlays{make_overlay(layer, {&program, 1}, {.fold_dense = false, .fold_pairs = false})};
    return run(layer, x, &overlays).f32()[0];
  };
  EXPECT_NEAR(
      with(Pair{Tensor::from(std::vector<float>(32, 1.0f), {1, 32}), Tensor::from(std::vector<float>{1e-6f}, {1, 1})}),
      8.0 + 32e-6, 1e-6);
  EXPECT_NEAR(
      with(Dense{[](int64_t, int64_t count, float* rows) { std::fill_n(rows, count * 32, 1e-6f); }, false, 1, "", 0}),
      8.0 + 32e-6, 1e-6);
  // The change itself is rounded: 0.008 to one part in 512.
  EXPECT_NEAR(with(Gain{Tensor::from(std::vector<float>(32, 1.001f), {32}), Side::kInput}), 8.008, 2e-5);
  // So are the factors of the base product.
  layer.weight = codec::weight_from(std::vector<float>(32, 0.2501f), {1, 32}, *codec::find_codec("f32"), "w");
  EXPECT_EQ(run(layer, x).f32()[0], 8.0f);
}

INSTANTIATE_TEST_SUITE_P(Devices, Product, testing::Values("ref", "cpu"));

}  // namespace
}  // namespace veneer::nn
