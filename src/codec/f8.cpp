// F8 to float32 by vectors, and back one value at a time.
#include "codec/f8.h"

#include <bit>

#include "codec/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/f8.cpp"
#include <hwy/foreach_target.h>

#include "codec/f8-inl.h"

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(E4M3ToF32);
HWY_EXPORT(E5M2ToF32);

void f8_e4m3_to_f32(const std::byte* in, int64_t count, float* out) { HWY_DYNAMIC_DISPATCH(E4M3ToF32)(in, count, out); }
void f8_e5m2_to_f32(const std::byte* in, int64_t count, float* out) { HWY_DYNAMIC_DISPATCH(E5M2ToF32)(in, count, out); }

float f8_e4m3_to_f32(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7Fu;
  if (magnitude == 0x7F) return std::bit_cast<float>(sign | 0x7FC00000u);
  if (magnitude < 8) {  // zero or subnormal: a multiple of 2^-9
    const float value = static_cast<float>(magnitude) * 0x1p-9f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}

float f8_e5m2_to_f32(uint8_t code) { return f16_to_f32(static_cast<uint16_t>(code << 8)); }

namespace {

struct Kind {
  int mantissa_bits;
  int bias;
  uint8_t largest;  // the code of the largest finite value
};
constexpr Kind kE4m3{3, 7, 0x7E};
constexpr Kind kE5m2{2, 15, 0x7B};

template <Kind kind>
uint8_t encode(float value) {
  constexpr int kDropped = 23 - kind.mantissa_bits;
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kind.bias) << 23;
  constexpr uint32_t kSmallestNormal = kRebias + (1u << 23);
  constexpr uint32_t kLargest = kRebias + (static_cast<uint32_t>(kind.largest) << kDropped);
  constexpr float kPerSubnormal =
      std::bit_cast<float>(static_cast<uint32_t>(126 + kind.bias + kind.mantissa_bits) << 23);

  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7Fu;
  if (magnitude >= kLargest) return sign | kind.largest;
  if (magnitude < kSmallestNormal) {
    const float scaled = std::bit_cast<float>(magnitude) * kPerSubnormal;
    const float rounded = (scaled + 0x1p23f) - 0x1p23f;  // to an integer, ties to even
    return static_cast<uint8_t>(sign | static_cast<uint32_t>(rounded));
  }
  const uint32_t odd = (magnitude >> kDropped) & 1u;
  return static_cast<uint8_t>(sign | ((magnitude - kRebias + (1u << (kDropped - 1)) - 1u + odd) >> kDropped));
}

void encode_e4m3(const float* value, uint8_t* out) { *out = f32_to_f8_e4m3(*value); }
void encode_e5m2(const float* value, uint8_t* out) { *out = f32_to_f8_e5m2(*value); }

}  // namespace

uint8_t f32_to_f8_e4m3(float value) { return encode<kE4m3>(value); }
uint8_t f32_to_f8_e5m2(float value) { return encode<kE5m2>(value); }

extern const Codec kF8E4m3{"f8_e4m3", 1, 1, check_blocks, decode_rows<f8_e4m3_to_f32>, encode_each<1, 1, encode_e4m3>};
extern const Codec kF8E5m2{"f8_e5m2", 1, 1, check_blocks, decode_rows<f8_e5m2_to_f32>, encode_each<1, 1, encode_e5m2>};

}  // namespace veneer::codec
#endif  // HWY_ONCE
