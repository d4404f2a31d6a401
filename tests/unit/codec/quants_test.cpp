// GGUF's blocks: vector decoders against the rule for one value, error bounds of the encoders, and what they make of
// numbers that no format can hold. Agreement with the reference is in tests/golden/codec.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codec/blocks.h"
#include "tests/unit/codec/random_blocks.h"

namespace veneer::codec {
namespace {

// Value i of a block, straight from the definition of the format.
using ValueRule = float (*)(const uint8_t* block, int i);

float q4_0_value(const uint8_t* block, int i) {
  const int q = i < 16 ? block[2 + i] & 15 : block[2 + i - 16] >> 4;
  return f16_at(block) * static_cast<float>(q - 8);
}

float q8_0_value(const uint8_t* block, int i) {
  return f16_at(block) * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

float q4_k_value(const uint8_t* block, int i) {
  const int group = i / 32;
  const uint8_t* s = block + 4;
  const int scale = group < 4 ? s[group] & 63 : (s[group + 4] & 15) | (s[group - 4] >> 6) << 4;
  const int minimum = group < 4 ? s[group + 4] & 63 : (s[group + 4] >> 4) | (s[group] >> 6) << 4;
  const int q = (block[16 + group / 2 * 32 + i % 32] >> (4 * (group % 2))) & 15;
  return (f16_at(block) * static_cast<float>(scale)) * static_cast<float>(q) -
         f16_at(block + 2) * static_cast<float>(minimum);
}

float q6_k_value(const uint8_t* block, int i) {
  const int half = i / 128, part = i % 128 / 32, column = i % 32;
  const int low = (block[half * 64 + column + 32 * (part % 2)] >> (4 * (part / 2))) & 15;
  const int upper = (block[128 + half * 32 + column] >> (2 * part)) & 3;
  const auto scale = static_cast<int8_t>(block[192 + i / 16]);
  return (f16_at(block + 208) * static_cast<float>(scale)) * static_cast<float>((low | upper << 4) - 32);
}

struct VectorFormat {
  const char* name;
  ValueRule rule;
};
constexpr VectorFormat kVectorFormats[] = {
    {"q4_0", q4_0_value}, {"q8_0", q8_0_value}, {"q4_K", q4_k_value}, {"q6_K", q6_k_value}};

TEST(Quants, VectorDecodersEqualTheRuleToTheBit) {
  for (const auto& [name, rule] : kVectorFormats) {
    const Codec& codec = *find_codec(name);
    const Weight weight = random_weight(codec, {500, codec.block_values}, 6);
    const std::vector<float> values = weight.decode_all();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const auto* block =
          reinterpret_cast<const uint8_t*>(weight.bytes.data()) + at / codec.block_values * codec.block_bytes;
      const float expected = rule(block, static_cast<int>(at % codec.block_values));
      ASSERT_TRUE(std::memcmp(&values[i], &expected, 4) == 0 || (std::isnan(values[i]) && std::isnan(expected)))
          << name << " value " << i << ": " << values[i] << " for " << expected;
    }
  }
}

// Half a step where rounding is to nearest, and what the rounding of scale and minimum to F16 (2^-11 of each, which a
// level multiplies) adds. A step is the range over the levels: of 32 values their largest magnitude (or range) at most.
TEST(Quants, FirstFormatsStayWithinHalfAStep) {
  struct Bound {
    const char* name;
    double steps;  // in the largest magnitude m of the block: an error of at most m / steps
  };
  // q4_0 and q5_0: a value on the side without the extra level may miss by a whole step, m / 8 and m / 16.
  // q4_1, q5_1: half of a range of up to 2 m over 15 or 31. q8_0: half of m / 127.
  constexpr Bound kBounds[] = {{"q4_0", 8}, {"q4_1", 15}, {"q5_0", 16}, {"q5_1", 31}, {"q8_0", 254}};
  const std::vector<float> source = random_normal(32 * 200, 0.05f, 7);
  for (const auto& [name, steps] : kBounds) {
    const std::vector<float> values = weight_from(source, {200, 32}, *find_codec(name)).decode_all();
    for (size_t block = 0; block < 200; ++block) {
      double largest = 0, error = 0;
      for (size_t i = block * 32; i < block * 32 + 32; ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(source[i])));
        error = std::max(error, std::abs(static_cast<double>(values[i]) - source[i]));
      }
      ASSERT_LE(error, largest * (1 / steps + 0x1p-10)) << name << " block " << block;
    }
  }
}

double relative_rms(const std::vector<float>& values, const std::vector<float>& source) {
  double error = 0, power = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    error += std::pow(static_cast<double>(values[i]) - source[i], 2);
    power += std::pow(static_cast<double>(source[i]), 2);
  }
  return std::sqrt(error / power);
}

// Normal numbers, whatever their size and sign. Rounding to 16 levels over the range of 32 of them (about 4 standard
// deviations) and to 64 levels over that of 16 (about 3.6) costs range / (levels - 1) / sqrt(12): 0.077 and 0.017. A
// search does better than that, the rounding of the scales themselves worse; measured are 0.070 and 0.017.
TEST(Quants, KQuantsAreWithinTheErrorOfTheirLevels) {
  for (const float deviation : {1e-3f, 0.05f, 40.0f}) {
    const std::vector<float> source = random_normal(256 * 20, deviation, 8);
    std::vector<float> negated = source;
    for (float& value : negated) value = -value;
    for (const auto& values : {source, negated}) {
      EXPECT_LT(relative_rms(weight_from(values, {20, 256}, *find_codec("q4_K")).decode_all(), values), 0.078);
      EXPECT_LT(relative_rms(weight_from(values, {20, 256}, *find_codec("q6_K")).decode_all(), values), 0.019);
    }
  }
}

TEST(Quants, KQuantsFollowAMean) {
  std::vector<float> source = random_normal(256 * 4, 0.02f, 9);
  for (size_t i = 0; i < source.size(); ++i) source[i] += i / 256 % 2 == 0 ? -0.5f : 0.5f;
  EXPECT_LT(relative_rms(weight_from(source, {4, 256}, *find_codec("q4_K")).decode_all(), source), 0.03);
}

TEST(Quants, NumbersOnTheGridAreKept) {
  std::vector<float> source(256);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(static_cast<int>(i * 5 % 16) - 8) * 0.25f;
  for (const char* name : {"q4_0", "q5_0", "q4_1"})
    EXPECT_EQ(weight_from(source, {256}, *find_codec(name)).decode_all(), source) << name;
}

TEST(Quants, ZerosStayZero) {
  const std::vector<float> zeros(512);
  for (const Codec* codec : byte_codecs()) {
    if (!codec->encode) continue;
    EXPECT_EQ(weight_from(zeros, {2, 256}, *codec).decode_all(), zeros) << codec->name;
  }
}

// No promise about such blocks but that encoding ends and that the neighbours in other blocks are what they would be.
TEST(Quants, NonFiniteNumbersSpoilOnlyTheirBlock) {
  std::vector<float> source = random_normal(768, 0.05f, 10);
  for (const Codec* codec : byte_codecs()) {
    if (!codec->encode) continue;
    const std::vector<float> clean = weight_from(source, {3, 256}, *codec).decode_all();
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -3e38f}) {
      std::vector<float> spoilt = source;
      spoilt[300] = spoilt[301] = bad;
      const std::vector<float> values = weight_from(spoilt, {3, 256}, *codec).decode_all();
      EXPECT_TRUE(std::equal(values.begin(), values.begin() + 256, clean.begin())) << codec->name;
      EXPECT_TRUE(std::equal(values.begin() + 512, values.end(), clean.begin() + 512)) << codec->name;
    }
  }
}

}  // namespace
}  // namespace veneer::codec
