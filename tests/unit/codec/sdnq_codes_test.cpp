// SDNQ's types by name, the packing of codes, and the vector loops against plain ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <set>

#include "codec/minifloat.h"
#include "codec/sdnq_packing.h"
#include "codec/sdnq_runs.h"
#include "codec/sdnq_types.h"

namespace veneer::codec {
namespace {

using Kind = SdnqType::Kind;

TEST(SdnqTypes, AreKnownByName) {
  EXPECT_EQ(parse_sdnq_type("int8"), (SdnqType{Kind::kInteger, false, 8, 0, 0}));
  EXPECT_EQ(parse_sdnq_type("uint1"), (SdnqType{Kind::kInteger, true, 1, 0, 0}));
  EXPECT_EQ(parse_sdnq_type("float6_e3m2fn"), (SdnqType{Kind::kMinifloat, false, 6, 3, 2}));
  EXPECT_EQ(parse_sdnq_type("float4_e2m2fnu"), (SdnqType{Kind::kMinifloat, true, 4, 2, 2}));
  EXPECT_EQ(parse_sdnq_type("fp13"), parse_sdnq_type("float13_e5m7fn"));
  EXPECT_EQ(parse_sdnq_type("fp4"), parse_sdnq_type("float4_e2m1fn"));
  EXPECT_EQ(parse_sdnq_type("ufp8"), parse_sdnq_type("float8_e4m4fnu"));
  EXPECT_EQ(parse_sdnq_type("fp8"), parse_sdnq_type("float8_e4m3fn"));
  // The processors' type and the library's own of the same bits differ in their largest codes.
  EXPECT_EQ(parse_sdnq_type("float8_e4m3fn")->kind, Kind::kE4M3);
  EXPECT_EQ(parse_sdnq_type("float8_e4m3fn_sdnq")->kind, Kind::kMinifloat);
  for (const char* wrong : {"int1", "int17", "uint0", "int", "int8x", "float6_e3m3fn", "float9_e6m2fn", "float4_e2m1",
                            "fp17", "fp1", "", "int-4", "float8_e0m7fn"})
    EXPECT_FALSE(parse_sdnq_type(wrong)) << wrong;
}

TEST(SdnqTypes, SurviveBeingASetting) {
  for (const char* name : {"int8", "uint4", "float8_e5m2", "float15_e5m9fn", "float1_e1m0fnu", "float32", "bfloat16"})
    EXPECT_EQ(sdnq_type_from(to_setting(*parse_sdnq_type(name))), *parse_sdnq_type(name)) << name;
}

TEST(SdnqTypes, SizesAreOfWholeGroups) {
  const SdnqType uint3 = *parse_sdnq_type("uint3"), uint1 = *parse_sdnq_type("uint1");
  EXPECT_EQ(sdnq_bytes(uint3, 1, 16), 6);
  EXPECT_EQ(sdnq_bytes(uint3, 1, 12), std::nullopt);
  EXPECT_EQ(sdnq_bytes(uint3, 2, 16), std::nullopt);
  EXPECT_EQ(sdnq_bytes(uint1, 8, 16), 16);
  EXPECT_EQ(sdnq_bytes(uint1, 1, 16), 2);
  EXPECT_EQ(sdnq_bytes(*parse_sdnq_type("int9"), 2, 32), 36);
  EXPECT_EQ(sdnq_bytes(*parse_sdnq_type("int16"), 2, 5), 10);
}

TEST(SdnqTypes, SignedCodesHaveAnOffsetUnlessTheyAreWhole) {
  const std::byte bytes[] = {std::byte{0x80}, std::byte{0xFF}};
  float value[4];
  sdnq_numbers({*parse_sdnq_type("int4"), bytes, 1}, 0, 4, value);
  EXPECT_EQ(std::vector<float>(value, value + 4), std::vector<float>({-8, 0, 7, 7}));
  sdnq_numbers({*parse_sdnq_type("int8"), bytes, 1}, 0, 2, value);
  EXPECT_EQ(value[0], -128.0f);
  EXPECT_EQ(value[1], -1.0f);
  sdnq_numbers({*parse_sdnq_type("int16"), bytes, 2}, 0, 1, value);
  EXPECT_EQ(value[0], -128.0f);
  sdnq_numbers({*parse_sdnq_type("uint16"), bytes, 2}, 0, 1, value);
  EXPECT_EQ(value[0], 65408.0f);
}

// A packing is a rearrangement of bits: each bit of the words is one bit of one code, and no two are the same.
TEST(SdnqPacking, EveryBitIsOneBitOfOneCode) {
  for (int bits = 1; bits <= 15; ++bits) {
    if (bits == 8) continue;
    const SdnqPacking packing = sdnq_packing(bits);
    const int word_bytes = bits > 8 ? 2 : 1;
    std::set<std::pair<int64_t, uint16_t>> seen;
    for (int64_t bit = 0; bit < packing.words * word_bytes * 8; ++bit) {
      std::vector<std::byte> words(static_cast<size_t>(packing.words * word_bytes));
      words[static_cast<size_t>(bit / 8)] = std::byte{1} << (bit % 8);
      std::vector<uint16_t> codes(static_cast<size_t>(packing.codes));
      sdnq_unpack({words.data(), word_bytes, bits}, 0, packing.codes, codes.data());
      int set = 0;
      for (int64_t i = 0; i < packing.codes; ++i) {
        const uint16_t code = codes[static_cast<size_t>(i)];
        set += std::popcount(code);
        EXPECT_LT(code, 1 << bits);
        EXPECT_TRUE(code == 0 || seen.emplace(i, code).second) << bits << " " << bit;
      }
      EXPECT_EQ(set, 1) << bits << " " << bit;
    }
    EXPECT_EQ(seen.size(), static_cast<size_t>(packing.codes * bits)) << bits;
  }
}

TEST(SdnqPacking, AnyRangeEqualsThatOfTheWhole) {
  std::mt19937 random(2);
  for (int bits = 1; bits <= 15; ++bits) {
    if (bits == 8) continue;
    const SdnqPacking packing = sdnq_packing(bits);
    const int word_bytes = bits > 8 ? 2 : 1;
    std::vector<std::byte> words(static_cast<size_t>(5 * packing.words * word_bytes));
    for (std::byte& word : words) word = static_cast<std::byte>(random());
    std::vector<uint16_t> all(static_cast<size_t>(5 * packing.codes));
    sdnq_unpack({words.data(), word_bytes, bits}, 0, 5 * packing.codes, all.data());
    for (size_t first = 0; first < all.size(); first += 3) {
      std::vector<uint16_t> some(std::min<size_t>(7, all.size() - first));
      sdnq_unpack({words.data(), word_bytes, bits}, static_cast<int64_t>(first), static_cast<int64_t>(some.size()),
                  some.data());
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first))) << bits;
    }
  }
}

// What a loop over the values gives.
template <typename Value>
std::vector<float> plain(int64_t count, const Value& value_at) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = value_at(static_cast<size_t>(i));
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, {}, std::bit_cast<uint32_t, float>, std::bit_cast<uint32_t, float>);
}

// To the bit, at every length around the vectors' own.
TEST(SdnqRuns, CodesEqualPlainLoops) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(128);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  std::vector<uint16_t> words(128);
  for (uint16_t& word : words) word = static_cast<uint16_t>(random());
  for (int64_t count = 0; count <= 128; ++count) {
    std::vector<float> out(static_cast<size_t>(count));
    nibbles_to_f32(bytes.data(), count, 8, out.data());
    EXPECT_TRUE(same_bits(
        out,
        plain(count,
              [&](size_t i) { return static_cast<float>(static_cast<int>(bytes[i / 2] >> (i % 2 * 4)) % 16 - 8); })))
        << count;
    codes_to_f32(words.data(), count, 512, out.data());
    EXPECT_TRUE(same_bits(out, plain(count, [&](size_t i) { return static_cast<float>(words[i] - 512); }))) << count;
  }
}

// Every code of every kind of small float, in one run.
TEST(SdnqRuns, MinifloatsEqualTheirDefinition) {
  for (int exponent = 1; exponent <= 5; ++exponent)
    for (int mantissa = 0; exponent + mantissa <= 15; ++mantissa)
      for (const bool has_sign : {false, true}) {
        std::vector<uint16_t> codes(size_t{1} << (exponent + mantissa + has_sign));
        std::iota(codes.begin(), codes.end(), uint16_t{0});
        const auto count = static_cast<int64_t>(codes.size());
        std::vector<float> out(codes.size());
        minifloats_to_f32(codes.data(), count, {exponent, mantissa, has_sign}, out.data());
        const auto expected = plain(count, [&](size_t i) { return minifloat(codes[i], exponent, mantissa, has_sign); });
        EXPECT_TRUE(same_bits(out, expected)) << exponent << " " << mantissa << " " << has_sign;
      }
}

TEST(SdnqRuns, ScalesEqualPlainLoops) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> codes(70), scales(70), zeros(70);
  for (auto* values : {&codes, &scales, &zeros})
    for (float& value : *values) value = normal(random);
  for (int64_t count = 0; count <= 70; ++count) {
    std::vector<float> run(codes.begin(), codes.begin() + count), each = run;
    scale_run(run.data(), count, scales[0], zeros[0]);
    scale_each(each.data(), count, scales.data(), zeros.data());
    const auto scaled = [](float code, float scale, float zero) {
      const float product = code * scale;  // rounded before the sum
      return product + zero;
    };
    EXPECT_TRUE(same_bits(run, plain(count, [&](size_t i) { return scaled(codes[i], scales[0], zeros[0]); }))) << count;
    EXPECT_TRUE(same_bits(each, plain(count, [&](size_t i) { return scaled(codes[i], scales[i], zeros[i]); })))
        << count;
    for (const int64_t period : {1, 3, 9, 16, 25, 64}) {
      std::vector<float> repeating(codes.begin(), codes.begin() + count);
      scale_repeating(repeating.data(), count, scales.data(), zeros.data(), period);
      const auto expected = plain(count, [&](size_t i) {
        const size_t k = i % static_cast<size_t>(period);
        return scaled(codes[i], scales[k], zeros[k]);
      });
      EXPECT_TRUE(same_bits(repeating, expected)) << count << " " << period;
    }
  }
}

}  // namespace
}  // namespace veneer::codec
