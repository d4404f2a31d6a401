// The first formats of GGUF: 32 values with one scale d (Q4_0, Q5_0, Q8_0: d * q), or with a scale and a minimum m
// (Q4_1, Q5_1: d * q + m), both F16. The fifth bits lie apart, bit i of a word for value i. Encoders give the bytes of
// the reference implementation: they quantize with the unrounded scale and store it rounded.
#include <algorithm>
#include <array>
#include <cmath>

#include "codec/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/legacy_quants.cpp"
#include <hwy/foreach_target.h>

#include "codec/legacy_quants-inl.h"

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(DecodeQ4_0);
HWY_EXPORT(DecodeQ4_1);
HWY_EXPORT(DecodeQ5_0);
HWY_EXPORT(DecodeQ5_1);
HWY_EXPORT(DecodeQ8_0);

namespace {

constexpr int kValues = 32;
using Levels = std::array<uint8_t, kValues>;

void decode_q4_0(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ4_0)(in, blocks, out); }
void decode_q4_1(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ4_1)(in, blocks, out); }
void decode_q5_0(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ5_0)(in, blocks, out); }
void decode_q5_1(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ5_1)(in, blocks, out); }
void decode_q8_0(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ8_0)(in, blocks, out); }

// The element of largest magnitude with its sign; the first of several.
float extreme(const float* x) {
  return *std::max_element(x, x + kValues, [](float a, float b) { return std::abs(a) < std::abs(b); });
}

// trunc((x - base) * inverse + shift) in 0..top; 0 for what is no number.
Levels levels(const float* x, float base, float inverse, float shift, int top) {
  Levels q;
  for (int i = 0; i < kValues; ++i) {
    const float level = (x[i] - base) * inverse + shift;
    q[i] = level > 0 ? static_cast<uint8_t>(std::min(level, static_cast<float>(top))) : uint8_t{0};
  }
  return q;
}

void store_nibbles(const Levels& q, uint8_t* out) {
  for (int i = 0; i < 16; ++i) out[i] = static_cast<uint8_t>((q[i] & 15) | q[i + 16] << 4);
}

void store_fifth_bits(const Levels& q, uint8_t* out) {
  std::fill_n(out, 4, uint8_t{0});
  for (int i = 0; i < kValues; ++i) out[i / 8] = static_cast<uint8_t>(out[i / 8] | (q[i] >> 4) << (i % 8));
}

// The extreme value takes the lowest level, of which the signed range has one more.
Levels quantize_symmetric(const float* x, int half, uint8_t* scale) {
  const float d = extreme(x) / static_cast<float>(-half);
  store_f16(d, scale);
  return levels(x, 0, inverse_of(d), static_cast<float>(half) + 0.5f, 2 * half - 1);
}

Levels quantize_with_minimum(const float* x, int top, uint8_t* scale_and_minimum) {
  const auto [low, high] = std::minmax_element(x, x + kValues);
  const float d = (*high - *low) / static_cast<float>(top);
  store_f16(d, scale_and_minimum);
  store_f16(*low, scale_and_minimum + 2);
  return levels(x, *low, inverse_of(d), 0.5f, top);
}

void encode_q4_0(const float* x, uint8_t* out) { store_nibbles(quantize_symmetric(x, 8, out), out + 2); }
void encode_q4_1(const float* x, uint8_t* out) { store_nibbles(quantize_with_minimum(x, 15, out), out + 4); }

void encode_q5_0(const float* x, uint8_t* out) {
  const Levels q = quantize_symmetric(x, 16, out);
  store_fifth_bits(q, out + 2);
  store_nibbles(q, out + 6);
}

void encode_q5_1(const float* x, uint8_t* out) {
  const Levels q = quantize_with_minimum(x, 31, out);
  store_fifth_bits(q, out + 4);
  store_nibbles(q, out + 8);
}

void encode_q8_0(const float* x, uint8_t* out) {
  const float d = std::abs(extreme(x)) / 127;
  const float inverse = inverse_of(d);
  store_f16(d, out);
  for (int i = 0; i < kValues; ++i) {
    const float level = std::round(x[i] * inverse);  // half away from zero
    const int q = std::abs(level) <= 127 ? static_cast<int>(level) : 0;
    out[2 + i] = static_cast<uint8_t>(q);
  }
}

// A codec of 32 values in `bytes` bytes.
template <int64_t bytes, BlocksDecoder decoder, OneEncoder encoder>
constexpr Codec legacy_codec(std::string_view name) {
  return {name, kValues, bytes, check_blocks, decode_rows<decoder>, encode_each<kValues, bytes, encoder>};
}

}  // namespace

extern const Codec kQ4_0 = legacy_codec<18, decode_q4_0, encode_q4_0>("q4_0");
extern const Codec kQ4_1 = legacy_codec<20, decode_q4_1, encode_q4_1>("q4_1");
extern const Codec kQ5_0 = legacy_codec<22, decode_q5_0, encode_q5_0>("q5_0");
extern const Codec kQ5_1 = legacy_codec<24, decode_q5_1, encode_q5_1>("q5_1");
extern const Codec kQ8_0 = legacy_codec<34, decode_q8_0, encode_q8_0>("q8_0");

}  // namespace veneer::codec
#endif  // HWY_ONCE
