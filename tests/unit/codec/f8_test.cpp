// F8: every code of both kinds, ties, saturation, and vectors against single values.
#include "codec/f8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "codec/weight.h"

namespace veneer::codec {
namespace {

struct Kind {
  const char* name;
  float (*decode)(uint8_t);
  uint8_t (*encode)(float);
  void (*decode_many)(const std::byte*, int64_t, float*);
  uint8_t largest;  // code of the largest finite value
};
constexpr Kind kKinds[] = {
    {"f8_e4m3", f8_e4m3_to_f32, f32_to_f8_e4m3, f8_e4m3_to_f32, 0x7E},
    {"f8_e5m2", f8_e5m2_to_f32, f32_to_f8_e5m2, f8_e5m2_to_f32, 0x7B},
};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(F8, KnownValues) {
  EXPECT_EQ(f8_e4m3_to_f32(0x38), 1.0f);
  EXPECT_EQ(f8_e4m3_to_f32(0x7E), 448.0f);
  EXPECT_EQ(f8_e4m3_to_f32(0x01), 0x1p-9f);
  EXPECT_EQ(f8_e4m3_to_f32(0x88), -0x1p-6f);
  EXPECT_TRUE(std::isnan(f8_e4m3_to_f32(0x7F)) && std::isnan(f8_e4m3_to_f32(0xFF)));
  EXPECT_EQ(f8_e5m2_to_f32(0x3C), 1.0f);
  EXPECT_EQ(f8_e5m2_to_f32(0x7B), 57344.0f);
  EXPECT_EQ(f8_e5m2_to_f32(0x01), 0x1p-16f);
  EXPECT_EQ(f8_e5m2_to_f32(0xFC), -kInfinity);
  for (const int code : {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF})
    EXPECT_TRUE(std::isnan(f8_e5m2_to_f32(static_cast<uint8_t>(code)))) << code;
}

TEST(F8, EncodeAfterDecodeIsTheIdentity) {
  for (const Kind& kind : kKinds) {
    for (int i = 0; i < 256; ++i) {
      const auto code = static_cast<uint8_t>(i);
      const float value = kind.decode(code);
      const uint8_t expected = std::isnan(value)   ? (code | 0x7F)
                               : std::isinf(value) ? (code & 0x80) | kind.largest
                                                   : code;
      EXPECT_EQ(kind.encode(value), expected) << kind.name << " code " << i;
    }
  }
}

TEST(F8, TiesGoToTheEvenCodeAndNeighboursToTheNearest) {
  for (const Kind& kind : kKinds) {
    for (uint8_t code = 0; code < kind.largest; ++code) {
      const auto next = static_cast<uint8_t>(code + 1);
      const float middle = (kind.decode(code) + kind.decode(next)) / 2;  // exact in float32
      for (const int sign : {1, -1}) {
        const int bit = sign < 0 ? 0x80 : 0;
        const auto signed_middle = static_cast<float>(sign) * middle;
        EXPECT_EQ(kind.encode(signed_middle), (code % 2 == 0 ? code : next) | bit) << kind.name << " code " << +code;
        EXPECT_EQ(kind.encode(std::nextafter(signed_middle, 0.0f)), code | bit) << kind.name << " code " << +code;
        EXPECT_EQ(kind.encode(std::nextafter(signed_middle, 2 * signed_middle)), next | bit)
            << kind.name << " code " << +code;
      }
    }
  }
}

TEST(F8, Saturates) {
  for (const Kind& kind : kKinds) {
    const float largest = kind.decode(kind.largest);
    for (const float value :
         {std::nextafter(largest, kInfinity), 2 * largest, std::numeric_limits<float>::max(), kInfinity}) {
      EXPECT_EQ(kind.encode(value), kind.largest) << kind.name << " " << value;
      EXPECT_EQ(kind.encode(-value), kind.largest | 0x80) << kind.name << " " << value;
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(kind.encode(std::copysign(nan, 1.0f)), 0x7F) << kind.name;
    EXPECT_EQ(kind.encode(std::copysign(nan, -1.0f)), 0xFF) << kind.name;
  }
}

TEST(F8, VectorsEqualSingleValues) {
  std::vector<std::byte> codes(1024);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i * 7);
  for (const Kind& kind : kKinds) {
    for (const int64_t count : {1024, 37, 1}) {  // the odd counts end in the scalar tail
      std::vector<float> out(static_cast<size_t>(count));
      kind.decode_many(codes.data(), count, out.data());
      for (size_t i = 0; i < out.size(); ++i) {
        const float expected = kind.decode(std::to_integer<uint8_t>(codes[i]));
        ASSERT_EQ(std::memcmp(&out[i], &expected, sizeof expected), 0) << kind.name << " at " << i;
      }
    }
  }
}

TEST(F8, CodecsUseThem) {
  const std::vector<float> values{0.0f, -1.0f, 448.0f, 1e9f};
  const Weight e4m3 = weight_from(values, {2, 2}, *find_codec("f8_e4m3"));
  EXPECT_EQ(e4m3.decode_all(), (std::vector<float>{0.0f, -1.0f, 448.0f, 448.0f}));
  const Weight e5m2 = weight_from(values, {2, 2}, *find_codec("f8_e5m2"));
  EXPECT_EQ(e5m2.decode_all(), (std::vector<float>{0.0f, -1.0f, 448.0f, 57344.0f}));
}

}  // namespace
}  // namespace veneer::codec
