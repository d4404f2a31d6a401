// SDNQ encoding: the groups and stored shapes of every kind of layer, codes within half a step, low-rank parts whose
// rounding the codes make up for.
#include "codec/sdnq_encode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <random>

namespace veneer::codec {
namespace {

SdnqForm form(std::string_view type, int64_t group = 0, int64_t rank = 0, const char* factors = "f32") {
  return {*parse_sdnq_type(type), group, rank, find_codec(factors), false};
}

std::vector<float> gaussian(const Shape& shape, float deviation, unsigned seed = 3) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.01f, deviation);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& value : values) value = normal(random);
  return values;
}

Weight round_trip(const SdnqForm& sdnq, std::span<const float> values, const Shape& shape) {
  auto bytes = encode(sdnq, values, shape, "w");
  EXPECT_TRUE(bytes) << bytes.error().message;
  Weight weight = decodable(sdnq, *std::move(bytes), shape, "w");
  const Status checked = weight.codec->check(weight);
  EXPECT_TRUE(checked) << checked.error().message;
  return weight;
}

double relative_error(std::span<const float> values, const Weight& weight) {
  const std::vector<float> back = weight.decode_all();
  double error = 0, square = 0;
  for (size_t i = 0; i < back.size(); ++i) {
    error += std::pow(double{back[i]} - values[i], 2);
    square += std::pow(values[i], 2);
  }
  return std::sqrt(error / square);
}

struct GroupCase {
  const char* type;
  int64_t asked, rank, expected;
  Shape shape;
};

TEST(SdnqGroups, FollowTheRuleOfFitting) {
  const GroupCase cases[] = {
      {"uint4", 100, 0, 160, {8, 320}},      // three groups do not divide 320, two do
      {"uint4", 33, 0, 40, {8, 320}},        //
      {"uint4", 64, 0, 100, {8, 1000}},      //
      {"uint4", 320, 0, 320, {8, 320}},      //
      {"uint4", -1, 0, 320, {8, 320}},       // a row each
      {"uint4", 128, 0, 257, {8, 257}},      // a prime
      {"uint4", 1, 0, 1, {8, 6}},            //
      {"uint4", 0, 0, 64, {8, 640}},         // automatic: 2^(1 + 4 + linear)
      {"uint4", 0, 8, 128, {8, 640}},        // and once more with a low-rank part
      {"uint4", 0, 0, 32, {8, 64, 3, 3}},    // a convolution is not linear
      {"uint4", 0, 8, 64, {8, 128, 3, 3}},   //
      {"int8", 0, 0, 1024, {8, 4096}},       //
      {"int8", 0, 0, 512, {8, 2048, 1, 1}},  //
      {"int8", 0, 0, 768, {8, 768}},         //
  };
  for (const GroupCase& one : cases)
    EXPECT_EQ(sdnq_group(form(one.type, one.asked, one.rank), one.shape), one.expected)
        << one.type << " " << one.asked << " " << one.shape.to_string();
  SdnqForm embedding = form("uint4");
  embedding.is_embedding = true;
  EXPECT_EQ(sdnq_group(embedding, {40, 64}), 32);
}

std::string text_of(const SdnqForm& sdnq, const Shape& shape) {
  std::string text;
  for (const StoredTensor& tensor : sdnq_tensors(sdnq, shape))
    text += concat(tensor.suffix, " ", tensor.type, " ", tensor.shape.to_string(), "\n");
  return text;
}

TEST(SdnqShapes, AreThoseOfEveryKindOfLayer) {
  EXPECT_EQ(text_of(form("int8", -1), {20, 96}), ".weight I8 [20, 96]\n.scale F32 [20, 1]\n");
  EXPECT_EQ(text_of(form("int8", 32), {8, 320}), ".weight I8 [8, 10, 32]\n.scale F32 [8, 10, 1]\n");
  EXPECT_EQ(text_of(form("int8", -1), {8, 40, 3, 5}), ".weight I8 [8, 40, 3, 5]\n.scale F32 [8, 1, 3, 5]\n");
  EXPECT_EQ(text_of(form("int8", 20), {8, 40, 3, 5}), ".weight I8 [8, 2, 20, 3, 5]\n.scale F32 [8, 2, 1, 3, 5]\n");
  EXPECT_EQ(text_of(form("int8", -1), {16, 40, 5}), ".weight I8 [16, 40, 5]\n.scale F32 [16, 1, 5]\n");
  EXPECT_EQ(text_of(form("uint4", 32), {8, 64, 3, 3}),
            ".weight U8 [2304]\n.scale F32 [8, 2, 1, 3, 3]\n.zero_point F32 [8, 2, 1, 3, 3]\n");
  EXPECT_EQ(text_of(form("uint8", -1), {4, 6}), ".weight U8 [4, 6]\n.scale F32 [4, 1]\n.zero_point F32 [4, 1]\n");
  EXPECT_EQ(text_of(form("int4", -1), {4, 6}), ".weight U8 [12]\n.scale F32 [4, 1]\n");
  EXPECT_EQ(text_of(form("uint4", 0, 8, "bf16"), {16, 40, 3, 3}),
            ".weight U8 [2880]\n.scale F32 [16, 1, 3, 3]\n.zero_point F32 [16, 1, 3, 3]\n"
            ".svd_up BF16 [16, 8]\n.svd_down BF16 [8, 360]\n");
  EXPECT_EQ(text_of(form("int8", -1, 32), {4, 96}),
            ".weight I8 [4, 96]\n.scale F32 [4, 1]\n.svd_up F32 [4, 4]\n.svd_down F32 [4, 96]\n");
  EXPECT_EQ(text_of(form("int8"), {2, 2, 2, 2, 2, 2}), "") << "no room for the groups' size";
}

struct LayerCase {
  const char* type;
  int64_t group, rank;
  Shape shape;
};

void PrintTo(const LayerCase& layer, std::ostream* out) {
  *out << layer.type << " " << layer.shape.to_string() << ", groups of " << layer.group << ", rank " << layer.rank;
}

class SdnqLayers : public testing::TestWithParam<LayerCase> {};

// Every value lies within half a step of its own scale, and a few units of float32 of what the step is added to.
TEST_P(SdnqLayers, DecodeWithinHalfAStep) {
  const auto& [type, group, rank, shape] = GetParam();
  const SdnqForm sdnq = form(type, group, rank, "bf16");
  const std::vector<float> values = gaussian(shape, 0.05f);
  const Weight weight = round_trip(sdnq, values, shape);
  const std::vector<float> back = weight.decode_all(), scale = weight.side->find("scale")->decode_all();
  const int64_t inputs = shape[1], positions = shape.elements() / shape[0] / inputs;
  const int64_t wide = sdnq_group(sdnq, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t position = at % positions, input = at / positions % inputs, row = at / positions / inputs;
    const float step = scale[static_cast<size_t>((row * (inputs / wide) + input / wide) * positions + position)];
    ASSERT_LE(std::abs(back[i] - values[i]), 0.5f * step + 2e-6f) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SdnqLayers,
                         testing::Values(LayerCase{"int8", -1, 0, {12, 96}}, LayerCase{"int8", 32, 0, {12, 96}},
                                         LayerCase{"uint8", 24, 0, {12, 96}}, LayerCase{"int4", 32, 0, {12, 96}},
                                         LayerCase{"uint4", 0, 0, {12, 192}}, LayerCase{"uint4", -1, 0, {40, 257}},
                                         LayerCase{"uint4", 32, 0, {8, 64, 3, 3}}, LayerCase{"int8", 5, 0, {6, 10, 3}},
                                         LayerCase{"int8", -1, 0, {6, 10, 1, 3}}, LayerCase{"uint4", 32, 4, {12, 96}},
                                         LayerCase{"int8", -1, 4, {12, 96}}, LayerCase{"uint4", 0, 8, {16, 40, 3, 3}},
                                         LayerCase{"int8", 16, 3, {1, 64}}));

TEST(SdnqEncode, EqualValuesAreKept) {
  const std::vector<float> values = {0.7f, 0.7f, 0, 0, -3, -3};
  for (const char* type : {"uint4", "uint8"}) {
    const Weight weight = round_trip(form(type, -1), values, {3, 2});
    EXPECT_EQ(weight.decode_all(), values) << type;
    EXPECT_EQ(weight.side->find("scale")->decode_all(), std::vector<float>(3)) << type;
  }
  const Weight weight = round_trip(form("int8", -1), values, {3, 2});
  EXPECT_EQ(weight.side->find("scale")->decode_all()[1], 0.0f);
  EXPECT_EQ(weight.decode_all()[2], 0.0f);
  EXPECT_NEAR(weight.decode_all()[0], 0.7f, 1e-6);
}

// Codes by hand: the scale is 2 / 7 and 0.5 is 1.75 steps; half a step goes to the even code.
TEST(SdnqEncode, CodesOfASmallRow) {
  const auto bytes = encode(form("int4", -1), std::vector<float>{2, -2, 0.5f, 0}, {1, 4}, "w");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->at(0), (std::vector{std::byte{0x1F}, std::byte{0x8A}}));  // +7 -7, +2 0, each with 8 on top
  const auto halves = encode(form("uint4", -1), std::vector<float>{-1, 14, -0.5f, 0.5f}, {1, 4}, "w");
  ASSERT_TRUE(halves);
  EXPECT_EQ(halves->at(0), (std::vector{std::byte{0xF0}, std::byte{0x20}}));
}

// The scale of values too small for float32's normal range may be zero or rough; codes stay in range all the same.
TEST(SdnqEncode, SubnormalValuesStayInRange) {
  const std::vector<float> values = {1.9e-43f, -1.9e-43f, 1e-45f, 0};
  const Weight weight = round_trip(form("int8", -1), values, {1, 4});
  for (const float value : weight.decode_all()) EXPECT_LE(std::abs(value), 2e-43f);
}

// A matrix that is nearly of low rank: BF16 factors are off by 2^-9 of its large part, far more than a step of what is
// left, so only codes that were made from the rounded factors come this near.
TEST(SdnqEncode, CodesMakeUpForTheRoundingOfFactors) {
  const Shape shape{48, 64};
  std::vector<float> values = gaussian(shape, 0.001f);
  const std::vector<float> left = gaussian({48}, 3.0f, 7), right = gaussian({64}, 3.0f, 8);
  for (size_t i = 0; i < 48; ++i)
    for (size_t j = 0; j < 64; ++j) values[i * 64 + j] += left[i] * right[j];
  const Weight weight = round_trip(form("int8", -1, 1, "bf16"), values, shape);
  EXPECT_EQ(weight.side->find("svd_up")->codec, find_codec("bf16"));
  const std::vector<float> back = weight.decode_all(), scale = weight.side->find("scale")->decode_all();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_LT(scale[i / 64], 0.002f);
    ASSERT_LE(std::abs(back[i] - values[i]), 0.5f * scale[i / 64] + 4e-6f) << i;
  }
}

// On weights with a few strong directions, as trained ones have, the low-rank part pays for itself.
TEST(SdnqEncode, LowRankPartLowersTheError) {
  const Shape shape{96, 128};
  std::vector<float> values = gaussian(shape, 0.02f);
  for (unsigned k = 0; k < 4; ++k) {
    const std::vector<float> left = gaussian({96}, 0.2f, 20 + k), right = gaussian({128}, 0.3f, 30 + k);
    for (size_t i = 0; i < 96; ++i)
      for (size_t j = 0; j < 128; ++j) values[i * 128 + j] += left[i] * right[j];
  }
  const double without = relative_error(values, round_trip(form("uint4", 32), values, shape));
  const double with = relative_error(values, round_trip(form("uint4", 32, 8), values, shape));
  EXPECT_LT(without, 0.1);
  EXPECT_LT(with, 0.5 * without);
}

}  // namespace
}  // namespace veneer::codec
