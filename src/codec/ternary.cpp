// GGUF's formats of three levels, d * (-1, 0 or 1): TQ2_0 with two bits a value, TQ1_0 with five values in a byte.
#include "codec/blocks.h"

namespace veneer::codec {
namespace {

// A byte holds its five (or four) digits as a binary fraction of 256 in base three: multiplied by 3^k modulo 256, its
// first digit is digit k. A run of bytes gives the first digits of all its bytes, then their second digits, and so on.
void decode_tq1_0(const uint8_t* in, float* out) {
  struct Run {
    int start, bytes, digits;
  };
  constexpr Run kRuns[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  const float d = f16_at(in + 52);
  for (const Run& run : kRuns) {
    for (int digit = 0, power = 1; digit < run.digits; ++digit, power *= 3) {
      for (int i = 0; i < run.bytes; ++i) {
        const int rest = (in[run.start + i] * power) & 255;
        *out++ = d * static_cast<float>(((rest * 3) >> 8) - 1);
      }
    }
  }
}

void decode_tq2_0(const uint8_t* in, float* out) {
  const float d = f16_at(in + 64);
  for (int group = 0; group < 8; ++group) {
    const uint8_t* bytes = in + group / 4 * 32;
    const int shift = 2 * (group % 4);
    for (int i = 0; i < 32; ++i) *out++ = d * static_cast<float>(((bytes[i] >> shift) & 3) - 1);
  }
}

}  // namespace

extern const Codec kTq1_0 = block_codec<256, 54, decode_tq1_0>("tq1_0");
extern const Codec kTq2_0 = block_codec<256, 66, decode_tq2_0>("tq2_0");

}  // namespace veneer::codec
