// Conversions of plain numbers: every 16-bit pattern, and rounding at ties and borders.
#include "codec/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace veneer::codec {
namespace {

std::vector<std::byte> all_patterns() {
  std::vector<std::byte> bytes(2 * 65536);
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    std::memcpy(&bytes[2 * i], &bits, 2);
  }
  return bytes;
}

template <typename One, typename Many>
void expect_vector_equals_scalar(One one, Many many) {
  const auto patterns = all_patterns();
  for (int64_t count : {65536, 37, 1}) {  // the odd counts end in the scalar tail
    std::vector<float> out(static_cast<size_t>(count));
    many(patterns.data(), count, out.data());
    for (int64_t i = 0; i < count; ++i) {
      const float expected = one(static_cast<uint16_t>(i));
      ASSERT_EQ(std::memcmp(&out[static_cast<size_t>(i)], &expected, 4), 0) << "pattern " << i;
    }
  }
}

TEST(Convert, VectorDecodingEqualsScalarForEveryPattern) {
  expect_vector_equals_scalar([](uint16_t b) { return f16_to_f32(b); },
                              [](const std::byte* in, int64_t n, float* out) { f16_to_f32(in, n, out); });
  expect_vector_equals_scalar([](uint16_t b) { return bf16_to_f32(b); },
                              [](const std::byte* in, int64_t n, float* out) { bf16_to_f32(in, n, out); });
}

TEST(Convert, BytesAreWholeNumbers) {
  const auto patterns = all_patterns();
  for (const int64_t count : {600, 37, 1}) {
    std::vector<float> with_sign(static_cast<size_t>(count)), without = with_sign;
    i8_to_f32(patterns.data(), count, with_sign.data());
    u8_to_f32(patterns.data(), count, without.data());
    for (size_t i = 0; i < with_sign.size(); ++i) {
      EXPECT_EQ(with_sign[i], static_cast<float>(static_cast<int8_t>(patterns[i]))) << i;
      EXPECT_EQ(without[i], static_cast<float>(static_cast<uint8_t>(patterns[i]))) << i;
    }
  }
}

TEST(Convert, EncodeAfterDecodeIsTheIdentity) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    if (!std::isnan(f16_to_f32(bits))) {
      EXPECT_EQ(f32_to_f16(f16_to_f32(bits)), bits);
    }
    if (!std::isnan(bf16_to_f32(bits))) {
      EXPECT_EQ(f32_to_bf16(bf16_to_f32(bits)), bits);
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(nan))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(nan))));
}

TEST(Convert, F16KnownValuesAndBorders) {
  EXPECT_EQ(f16_to_f32(0x3C00), 1.0f);
  EXPECT_EQ(f16_to_f32(0x7BFF), 65504.0f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x83FF), -1023 * 0x1p-24f);
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3C00);      // a tie goes to the even neighbour, downwards
  EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3C02);  // and upwards
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);             // half of the smallest subnormal: tie to zero
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1.ff8p-15f), 0x03FF);  // the largest subnormal
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
}

TEST(Convert, Bf16RoundsTiesToEven) {
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3F80);
  EXPECT_EQ(f32_to_bf16(1.0f + 3 * 0x1p-8f), 0x3F82);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace veneer::codec
