// The inner loops of SDNQ: codes to numbers, numbers to values, and the low-rank part, by the widest vector unit that
// the processor has. In numbers to values multiplication and addition round one after the other, in the low-rank part
// they are fused: on every processor, so that all give the same bits.
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

// A product of two narrow matrices, some rows of it.
struct LowRankRows {
  const float* left;  // [rows, rank], its rows `left_stride` apart
  int64_t left_stride;
  const float* right;  // [rank, count]
  int64_t rank, count;
  int64_t out_stride;
};
// out[r][i] += left[r][k] * right[k][i] for each k in turn, fused (std::fma); `out` is [rows, count], its rows
// `out_stride` apart.
void add_low_rank(const LowRankRows& product, int64_t rows, float* out);

}  // namespace veneer::codec
