// Decoders of GGUF's k-quants, Q2_K to Q6_K: blocks of 256 values in groups of 16 or 32, each group with a small
// integer scale under the block's F16 scale d. The encoders of Q4_K and Q6_K have files of their own.
#include "codec/k_quants.h"

#include "codec/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/k_quants.cpp"
#include <hwy/foreach_target.h>

#include "codec/k_quants-inl.h"

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(DecodeQ4_K);
HWY_EXPORT(DecodeQ6_K);

namespace {

void decode_q4_k(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ4_K)(in, blocks, out); }
void decode_q6_k(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ6_K)(in, blocks, out); }

// Where Q2_K and Q3_K keep the two bits of the 16 values of a group: eight groups share 32 bytes.
struct TwoBits {
  int first;  // byte of the first value among the block's 64
  int shift;
};
TwoBits two_bits(int group) { return {group / 8 * 32 + group % 2 * 16, group % 8 / 2 * 2}; }

void decode_q2_k(const uint8_t* in, float* out) {
  const float d = f16_at(in + 80), dm = f16_at(in + 82);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(in[group] & 15);
    const float minimum = dm * static_cast<float>(in[group] >> 4);
    const auto [first, shift] = two_bits(group);
    const uint8_t* q = in + 16 + first;
    for (int i = 0; i < 16; ++i) *out++ = scale * static_cast<float>((q[i] >> shift) & 3) - minimum;
  }
}

// Scale 0..63 of a group, from 12 bytes: four low bits of all sixteen, then two upper bits of each.
int q3_k_scale(const uint8_t* packed, int group) {
  const int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
  return low | ((packed[8 + group % 4] >> (group / 4 * 2)) & 3) << 4;
}

void decode_q3_k(const uint8_t* in, float* out) {
  const float d = f16_at(in + 108);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(q3_k_scale(in + 96, group) - 32);
    const auto [first, shift] = two_bits(group);
    const uint8_t* q = in + 32 + first;
    const uint8_t* high = in + group % 2 * 16;  // bit group / 2 is the third bit, stored inverted
    for (int i = 0; i < 16; ++i) {
      const int level = ((q[i] >> shift) & 3) - ((high[i] >> (group / 2)) & 1 ? 0 : 4);
      *out++ = scale * static_cast<float>(level);
    }
  }
}

void decode_q5_k(const uint8_t* in, float* out) {
  const float d = f16_at(in), dm = f16_at(in + 2);
  for (int group = 0; group < 8; ++group) {
    const GroupScale packed = group_scale(in + 4, group);
    const float scale = d * static_cast<float>(packed.scale);
    const float minimum = dm * static_cast<float>(packed.minimum);
    const uint8_t* high = in + 16;
    const uint8_t* q = in + 48 + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int level = ((q[i] >> shift) & 15) | ((high[i] >> group) & 1) << 4;
      *out++ = scale * static_cast<float>(level) - minimum;
    }
  }
}

}  // namespace

extern const Codec kQ2K = block_codec<256, 84, decode_q2_k>("q2_K");
extern const Codec kQ3K = block_codec<256, 110, decode_q3_k>("q3_K");
extern const Codec kQ4K{"q4_K", 256, 144, check_blocks, decode_rows<decode_q4_k>, encode_each<256, 144, encode_q4_k>};
extern const Codec kQ5K = block_codec<256, 176, decode_q5_k>("q5_K");
extern const Codec kQ6K{"q6_K", 256, 210, check_blocks, decode_rows<decode_q6_k>, encode_each<256, 210, encode_q6_k>};

}  // namespace veneer::codec
#endif  // HWY_ONCE
