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

HWY_EXPORT(DecodeQ2_K);
HWY_EXPORT(DecodeQ3_K);
HWY_EXPORT(DecodeQ4_K);
HWY_EXPORT(DecodeQ5_K);
HWY_EXPORT(DecodeQ6_K);

namespace {

void decode_q2_k(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ2_K)(in, blocks, out); }
void decode_q3_k(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ3_K)(in, blocks, out); }
void decode_q4_k(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ4_K)(in, blocks, out); }
void decode_q5_k(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ5_K)(in, blocks, out); }
void decode_q6_k(const std::byte* in, int64_t blocks, float* out) { HWY_DYNAMIC_DISPATCH(DecodeQ6_K)(in, blocks, out); }

}  // namespace

extern const Codec kQ2K{"q2_K", 256, 84, check_blocks, decode_rows<decode_q2_k>, nullptr};
extern const Codec kQ3K{"q3_K", 256, 110, check_blocks, decode_rows<decode_q3_k>, nullptr};
extern const Codec kQ4K{"q4_K", 256, 144, check_blocks, decode_rows<decode_q4_k>, encode_each<256, 144, encode_q4_k>};
extern const Codec kQ5K{"q5_K", 256, 176, check_blocks, decode_rows<decode_q5_k>, nullptr};
extern const Codec kQ6K{"q6_K", 256, 210, check_blocks, decode_rows<decode_q6_k>, encode_each<256, 210, encode_q6_k>};

}  // namespace veneer::codec
#endif  // HWY_ONCE
