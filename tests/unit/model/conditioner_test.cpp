// How texts become conditions: the joins of the UNet families, and what they are made of.
#include "model/conditioner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/unet_text.h"

namespace veneer::model {
namespace {

Tensor filled(const Shape& shape, float value) {
  Tensor tensor = Tensor::zeros(shape);
  std::ranges::fill(tensor.values(), value);
  return tensor;
}

std::vector<float> numbers(const Tensor& tensor) { return {tensor.values().begin(), tensor.values().end()}; }

class FakeDenoiser final : public Denoiser {
 public:
  FakeDenoiser(int64_t context, int64_t vector) : context_(context), vector_(vector) {}
  Tensor forward(nn::Context&, const Input& input) const override { return input.x; }
  int64_t input_channels() const override { return 4; }
  int64_t latent_channels() const override { return 4; }
  int64_t context_width() const override { return context_; }
  int64_t vector_width() const override { return vector_; }

 private:
  int64_t context_, vector_;
};

class FakeEncoder final : public TextEncoder {
 public:
  FakeEncoder(int64_t width, int64_t pooled, int64_t depth) : width_(width), pooled_(pooled), depth_(depth) {}
  Encoded encode(nn::Context&, const Input&) const override { return {}; }
  int64_t pooled_width() const override { return pooled_; }
  int64_t width() const override { return width_; }
  int64_t positions() const override { return 77; }
  int64_t vocabulary() const override { return 49408; }
  int64_t depth() const override { return depth_; }

 private:
  int64_t width_, pooled_, depth_;
};

TEST(Conditioner, BesideJoinsChannels) {
  const Tensor joined = beside(filled({1, 2, 1}, 1), filled({1, 2, 2}, 2));
  EXPECT_EQ(joined.shape, (Shape{1, 2, 3}));
  EXPECT_EQ(numbers(joined), (std::vector<float>{1, 2, 2, 1, 2, 2}));
}

TEST(Conditioner, BehindJoinsTokensAndFillsUp) {
  const Tensor joined = behind(filled({1, 2, 1}, 1), filled({1, 1, 2}, 2));
  EXPECT_EQ(joined.shape, (Shape{1, 3, 2}));
  EXPECT_EQ(numbers(joined), (std::vector<float>{1, 0, 1, 0, 2, 2}));
}

TEST(Conditioner, AMissingTextAddsNothing) {
  const Tensor one = filled({1, 2, 3}, 1);
  for (const auto join : {beside, behind}) {
    EXPECT_EQ(join(one, {}).shape, one.shape);
    EXPECT_EQ(join({}, one).shape, one.shape);
    EXPECT_TRUE(join({}, {}).empty());
  }
}

TEST(Conditioner, SinusoidsAreCosinesThenSines) {
  const double values[] = {0.0, 2.0};
  const Tensor all = sinusoids(values, 4);
  EXPECT_EQ(all.shape, (Shape{1, 8}));
  const double second = 2.0 / 100;  // 10000^(-1/2)
  const double expected[] = {1, 1, 0, 0, std::cos(2.0), std::cos(second), std::sin(2.0), std::sin(second)};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(all.values()[i], expected[i], 1e-7) << i;
}

class XlJoin : public testing::Test {
 protected:
  std::vector<EncodedText> texts() const {
    return {{filled({1, 2, 3}, 1), {}, {}}, {filled({1, 2, 2}, 2), filled({1, 4}, 5), {}}};
  }
  const FakeDenoiser denoiser_{5, 4 + 6 * 2};
};

TEST_F(XlJoin, HeightComesBeforeWidth) {
  const auto given = texts();
  const Condition joined = kSdxlText.join({.texts = given, .denoiser = denoiser_, .height = 7, .width = 11});
  EXPECT_EQ(joined.states.shape, (Shape{1, 2, 5}));
  EXPECT_EQ(numbers(joined.states), (std::vector<float>{1, 1, 1, 2, 2, 1, 1, 1, 2, 2}));
  ASSERT_EQ(joined.vector.elements(), denoiser_.vector_width());
  std::vector<double> expected(4, 5.0);
  for (const double place : {7, 11, 0, 0, 7, 11})
    for (const double value : {std::cos(place), std::sin(place)}) expected.push_back(value);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(joined.vector.values()[i], expected[i], 1e-7) << i;
}

TEST_F(XlJoin, AnEmptyNegativePromptIsZerosButForTheSizes) {
  const auto given = texts();
  JoinInput input{.texts = given, .denoiser = denoiser_, .height = 7, .width = 11, .negative = true};
  const Condition encoded = kSdxlText.join(input);
  input.blank = true;
  const Condition blank = kSdxlText.join(input);
  for (const float value : blank.states.values()) EXPECT_EQ(value, 0.0f);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(blank.vector.values()[i], 0.0f);
  for (size_t i = 4; i < 16; ++i) EXPECT_EQ(blank.vector.values()[i], encoded.vector.values()[i]);
  EXPECT_EQ(encoded.states.values()[0], 1.0f);
}

TEST(RefinerJoin, ScoresOfBothPromptsAndNoZeros) {
  const FakeDenoiser denoiser(2, 4 + 5 * 2);
  const std::vector<EncodedText> texts{{filled({1, 2, 2}, 2), filled({1, 4}, 5), {}}};
  JoinInput input{.texts = texts, .denoiser = denoiser, .height = 7, .width = 11};
  const Condition prompt = kSdxlRefinerText.join(input);
  EXPECT_NEAR(prompt.vector.values()[12], std::cos(6.0), 1e-7);
  input.negative = input.blank = true;
  const Condition negative = kSdxlRefinerText.join(input);
  EXPECT_NEAR(negative.vector.values()[12], std::cos(2.5), 1e-7);
  EXPECT_EQ(negative.vector.values()[0], 5.0f);
  EXPECT_EQ(negative.states.values()[0], 2.0f);
}

// Encoders of another family give sizes that do not fit, and nothing worse.
TEST(Joins, NeverFail) {
  const FakeDenoiser denoiser(5, 3);
  TextEncoders encoders;
  encoders.emplace(io::Part::kTextEncoder, std::make_unique<FakeEncoder>(3, 0, 2));
  encoders.emplace(io::Part::kTextEncoder2, std::make_unique<FakeEncoder>(9, 8, 2));
  const int64_t tokens[] = {1, 1};
  const Condition condition = blank_condition(kSdxlText, encoders, denoiser, tokens);
  EXPECT_EQ(condition.states.shape.back(), 12);
  EXPECT_NE(condition.vector.shape.back(), 3);
}

TEST(LayersLeftOut, FollowTheRequestElseTheFamily) {
  const FakeEncoder clip(768, 0, 12);
  EXPECT_EQ(layers_left_out(kSd1Text.uses[0], clip, 0), 0);
  EXPECT_EQ(layers_left_out(kSd1Text.uses[0], clip, -1), 0);
  EXPECT_EQ(layers_left_out(kSd1Text.uses[0], clip, 3), 2);
  EXPECT_EQ(layers_left_out(kSdxlText.uses[0], clip, 0), 1);
  EXPECT_EQ(layers_left_out(kSdxlText.uses[0], clip, 1), 0);
  EXPECT_EQ(layers_left_out(kSd1Text.uses[0], clip, 99), 12);
}

// Folders of Stable Diffusion 2 hold 23 of 24 layers and no projection; the original checkpoint all.
TEST(LayersLeftOut, CountTheLayerThatIsMissing) {
  const model::TextUse& use = kSd2Text.uses[0];
  EXPECT_EQ(layers_left_out(use, FakeEncoder(1024, 0, 23), 0), 0);
  EXPECT_EQ(layers_left_out(use, FakeEncoder(1024, 0, 24), 0), 1);
  EXPECT_EQ(layers_left_out(use, FakeEncoder(1024, 1024, 24), 0), 1);
  EXPECT_EQ(layers_left_out(use, FakeEncoder(1024, 0, 23), 3), 1);
  EXPECT_EQ(layers_left_out(use, FakeEncoder(1024, 0, 23), 1), 0);
}

}  // namespace
}  // namespace veneer::model
