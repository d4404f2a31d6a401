// What transformers are made of beside products: which numbers of their arguments the operations mean.
#include "nn/operations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "device/devices.h"

namespace veneer::nn {
namespace {

class Operations : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = device::open_device("ref", 1, true);
    ASSERT_TRUE(opened) << opened.error().message;
    device_ = *std::move(opened);
    context_.emplace(Context{*device_, arena_, panels_});
  }
  // 0, 1, 2, ...
  static Tensor counting(const Shape& shape) {
    Tensor tensor = Tensor::zeros(shape);
    std::iota(tensor.values().begin(), tensor.values().end(), 0.0f);
    return tensor;
  }
  static std::vector<float> numbers(const Tensor& tensor) { return {tensor.values().begin(), tensor.values().end()}; }

  std::unique_ptr<device::Device> device_;
  device::Arena arena_{1 << 16};
  PanelCache panels_{0};
  std::optional<Context> context_;
};

TEST_F(Operations, RmsNormTakesHeadsOneByOne) {
  Layer norm;
  norm.weight.shape = {2};
  norm.gain = {1, 10};
  const float values[] = {3, 4, 6, 8};  // roots of the mean squares: sqrt(12.5), sqrt(50)
  const Tensor y = rms_norm(*context_, norm, Tensor::from(values, {1, 1, 4}), 0.0f);
  const float root = std::sqrt(12.5f);
  for (const int64_t head : {0, 1}) {
    EXPECT_FLOAT_EQ(y.f32()[2 * head], 3 / root);
    EXPECT_FLOAT_EQ(y.f32()[2 * head + 1], 40 / root);
  }
}

TEST_F(Operations, ModulatedNormTakesItsVectors) {
  const float one[] = {7, 7, 2, 3, 10, 20}, two[] = {7, 7, 2, 3, 10, 20, 7, 7, 4, 5, 30, 40};
  const Tensor x = Tensor::from(std::vector<float>{-1, 1, -1, 1}, {2, 1, 2});  // already normal
  const Tensor same = modulated_norm(*context_, x, Tensor::from(one, {1, 6}), /*shift=*/2, /*scale=*/1, 0.0f);
  EXPECT_EQ(numbers(same), (std::vector<float>{10 - 3, 20 + 4, 10 - 3, 20 + 4}));
  const Tensor each = modulated_norm(*context_, x, Tensor::from(two, {2, 6}), 2, 1, 0.0f);
  EXPECT_EQ(numbers(each), (std::vector<float>{10 - 3, 20 + 4, 30 - 5, 40 + 6}));
  Tensor y = Tensor::from(std::vector<float>{1, 1, 1, 1}, {2, 1, 2});
  add_gated_(*context_, y, x, Tensor::from(two, {2, 6}), /*gate=*/1);
  EXPECT_EQ(numbers(y), (std::vector<float>{1 - 2, 1 + 3, 1 - 4, 1 + 5}));
  multiply_(*context_, y, Tensor::from(std::vector<float>{2, 2, 2, 0}, {2, 1, 2}));
  EXPECT_EQ(numbers(y), (std::vector<float>{-2, 8, -6, 0}));
}

TEST_F(Operations, UnpatchPutsChannelsInnermostAndDropsTheLast) {
  // One image of 1 x 2 tokens, patches of 2 x 2, three channels of which two are kept.
  const Tensor y = unpatch(*context_, counting({1, 2, 12}), 1, 2, 2, 2);
  EXPECT_EQ(y.shape, (Shape{1, 2, 4, 2}));
  EXPECT_EQ(numbers(y), (std::vector<float>{0, 1, 3, 4, 12, 13, 15, 16, 6, 7, 9, 10, 18, 19, 21, 22}));
}

TEST_F(Operations, AttentionScalesItsScores) {
  // Two keys; the scores are 0 and 8 times the scale.
  const float query[] = {2, 2}, keys[] = {0, 0, 2, 2}, values[] = {0, 0, 1, 1};
  const auto weight = [&](const Scores& scores) {
    return attention(*context_, Tensor::from(query, {1, 1, 2}), Tensor::from(keys, {1, 2, 2}),
                     Tensor::from(values, {1, 2, 2}), 1, scores)
        .f32()[0];
  };
  const auto logistic = [](float x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_FLOAT_EQ(weight({}), logistic(8 / std::sqrt(2.0f)));
  EXPECT_FLOAT_EQ(weight({.scale = 0.25f}), logistic(2));
  const float bias[] = {1, 0}, mask[] = {0, -3};
  EXPECT_FLOAT_EQ(weight({.bias = Tensor::from(bias, {1, 1, 2}), .scale = 0.25f}), logistic(1));
  EXPECT_FLOAT_EQ(weight({.key_mask = Tensor::from(mask, {1, 2}), .scale = 0.25f}), logistic(-1));
}

}  // namespace
}  // namespace veneer::nn
