// The inner loops of SDNQ's commonest types and of its low-rank part, by the widest vector unit that the processor has.
// Multiplication and addition round one after the other, so that every processor gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::codec {

struct CodeScale {
  float offset, scale, zero;  // a code q means (q - offset) * scale + zero
};

// `count` (even) codes of 4 bits, the low nibble first.
void scale_nibbles(const std::byte* in, int64_t count, const CodeScale& scale, float* out);
// Codes of 8 bits with a sign.
void scale_int8(const std::byte* in, int64_t count, const CodeScale& scale, float* out);
// One row of a low-rank product: out[i] += sum over k of left[k] * right[k][i], for right [rank, count].
void add_low_rank(const float* left, const float* right, int64_t rank, int64_t count, float* out);

}  // namespace veneer::codec
