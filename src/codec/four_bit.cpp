// Four bits that index a table, of GGUF: IQ4_NL and IQ4_XS (a table denser in the middle), MXFP4 and NVFP4 (E2M1 values
// under a power of two for 32 values, or under an E4M3 scale for 16).
#include <array>
#include <bit>

#include "codec/blocks.h"

namespace veneer::codec {
namespace {

using Table = std::array<float, 16>;
constexpr Table kNonLinear{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr Table kDoubledE2M1{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The low nibbles of `bytes` bytes first, then the high ones.
template <int bytes>
void decode_nibbles(const Table& table, float scale, const uint8_t* nibbles, float* out) {
  for (int i = 0; i < bytes; ++i) {
    out[i] = scale * table[nibbles[i] & 15];
    out[bytes + i] = scale * table[nibbles[i] >> 4];
  }
}

void decode_iq4_nl(const uint8_t* in, float* out) { decode_nibbles<16>(kNonLinear, f16_at(in), in + 2, out); }

// d, then the upper two bits of eight scales, then their lower four bits, then the values.
void decode_iq4_xs(const uint8_t* in, float* out) {
  const float d = f16_at(in);
  const int upper = u16_at(in + 2);
  for (int group = 0; group < 8; ++group) {
    const int low = (in[4 + group / 2] >> (4 * (group % 2))) & 15;
    const int scale = low | ((upper >> (2 * group)) & 3) << 4;
    decode_nibbles<16>(kNonLinear, d * static_cast<float>(scale - 32), in + 8 + 16 * group, out + 32 * group);
  }
}

// 2^(code - 128): half of what the code stands for, since the table is doubled. 0 counts as 2^-128, which like 2^-127
// is subnormal.
float half_of_e8m0(uint8_t code) {
  return std::bit_cast<float>(code < 2 ? uint32_t{0x200000} << code : static_cast<uint32_t>(code - 1) << 23);
}

void decode_mxfp4(const uint8_t* in, float* out) { decode_nibbles<16>(kDoubledE2M1, half_of_e8m0(in[0]), in + 1, out); }

// Half of E4M3 without its sign, where 0x7F counts as 0.
float half_of_ue4m3(uint8_t code) {
  if (code == 0x7F) return 0;
  const uint32_t magnitude = code & 0x7Fu;
  if (magnitude < 8) return static_cast<float>(magnitude) * 0x1p-10f;
  return std::bit_cast<float>((magnitude << 20) + (119u << 23));
}

// Four scales, then 8 bytes for each group of 16 values.
void decode_nvfp4(const uint8_t* in, float* out) {
  for (int group = 0; group < 4; ++group)
    decode_nibbles<8>(kDoubledE2M1, half_of_ue4m3(in[group]), in + 4 + 8 * group, out + 16 * group);
}

}  // namespace

extern const Codec kIq4Nl = block_codec<32, 18, decode_iq4_nl>("iq4_nl");
extern const Codec kIq4Xs = block_codec<256, 136, decode_iq4_xs>("iq4_xs");
extern const Codec kMxfp4 = block_codec<32, 17, decode_mxfp4>("mxfp4");
extern const Codec kNvfp4 = block_codec<64, 36, decode_nvfp4>("nvfp4");

}  // namespace veneer::codec
