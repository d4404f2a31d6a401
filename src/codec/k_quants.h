// What the files of the k-quants share: blocks of 256 values whose groups have small integer scales under one F16 scale
// (and, for Q2_K, Q4_K and Q5_K, minimums under a second one).
#pragma once

#include <cstdint>

namespace veneer::codec {

struct GroupScale {
  int scale, minimum;  // 0..63
};

// Group 0..7 of the 12 bytes in which Q4_K and Q5_K pack eight scales and minimums of six bits.
inline GroupScale group_scale(const uint8_t* packed, int group) {
  if (group < 4) return {packed[group] & 63, packed[group + 4] & 63};
  return {(packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4, (packed[group + 4] >> 4) | (packed[group] >> 6)
                                                                                                   << 4};
}

// Scale 0..63 of group 0..15 of Q3_K, from 12 bytes: four low bits of all sixteen, then two upper bits of each.
inline int q3_k_scale(const uint8_t* packed, int group) {
  const int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
  return low | ((packed[8 + group % 4] >> (group / 4 * 2)) & 3) << 4;
}

// Encoders of one block: 256 values to 144 or 210 bytes, by a search of scales for the least squared error. What is not
// finite in a group makes that group zero.
void encode_q4_k(const float* values, uint8_t* out);
void encode_q6_k(const float* values, uint8_t* out);

}  // namespace veneer::codec
