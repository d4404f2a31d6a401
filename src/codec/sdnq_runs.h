// The inner loops of SDNQ: codes to numbers and numbers to values, by the widest vector unit that the processor has.
// Multiplication and addition round one after the other, so that every processor gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::codec {

// Codes of 4 bits, the low nibble first, less `offset`.
void nibbles_to_f32(const std::byte* in, int64_t count, int offset, float* out);
// Codes less `offset`.
void codes_to_f32(const uint16_t* in, int64_t count, int offset, float* out);

// The bits of a small float (minifloat.h).
struct MinifloatBits {
  int exponent, mantissa;
  bool has_sign;
};
void minifloats_to_f32(const uint16_t* in, int64_t count, const MinifloatBits& bits, float* out);

// values[i] = values[i] * scale + zero.
void scale_run(float* values, int64_t count, float scale, float zero);
// values[i] = values[i] * scales[i] + zeros[i].
void scale_each(float* values, int64_t count, const float* scales, const float* zeros);
// values[i] = values[i] * scales[i % period] + zeros[i % period]; a period of 1 to kMostPeriod.
constexpr int64_t kMostPeriod = 64;
void scale_repeating(float* values, int64_t count, const float* scales, const float* zeros, int64_t period);

}  // namespace veneer::codec
