// Conversions between plain number types. Narrowing is scalar: it happens when a file is written, never in a product.
#include "codec/convert.h"

#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/convert.cpp"
#include <hwy/foreach_target.h>

#include "codec/convert-inl.h"

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(F16ToF32);
HWY_EXPORT(Bf16ToF32);
HWY_EXPORT(I8ToF32);
HWY_EXPORT(U8ToF32);

void f16_to_f32(const std::byte* in, int64_t count, float* out) { HWY_DYNAMIC_DISPATCH(F16ToF32)(in, count, out); }
void bf16_to_f32(const std::byte* in, int64_t count, float* out) { HWY_DYNAMIC_DISPATCH(Bf16ToF32)(in, count, out); }

void i8_to_f32(const std::byte* in, int64_t count, float* out) { HWY_DYNAMIC_DISPATCH(I8ToF32)(in, count, out); }
void u8_to_f32(const std::byte* in, int64_t count, float* out) { HWY_DYNAMIC_DISPATCH(U8ToF32)(in, count, out); }

void f32_to_f16(const float* in, int64_t count, std::byte* out) {
  for (int64_t i = 0; i < count; ++i) {
    const uint16_t bits = f32_to_f16(in[i]);
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

void f32_to_bf16(const float* in, int64_t count, std::byte* out) {
  for (int64_t i = 0; i < count; ++i) {
    const uint16_t bits = f32_to_bf16(in[i]);
    std::memcpy(out + 2 * i, &bits, 2);
  }
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u;
  const uint32_t mantissa = bits & 1023u;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) {  // infinity, or NaN made quiet as the processor's own conversion does
    const uint32_t quiet = mantissa ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13) | quiet);
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x1FFu));
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // 65520 and above
  if (magnitude < 0x38800000u) {                                               // below 2^-14: a multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    const float rounded = (scaled + 0x1p23f) - 0x1p23f;  // to an integer, ties to even
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(rounded));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);  // keep NaN a NaN
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
