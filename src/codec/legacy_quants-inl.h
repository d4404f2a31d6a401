// The vector loops of legacy_quants.cpp, compiled once for each target.
#if defined(VENEER_CODEC_LEGACY_QUANTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_CODEC_LEGACY_QUANTS_INL_H_
#undef VENEER_CODEC_LEGACY_QUANTS_INL_H_
#else
#define VENEER_CODEC_LEGACY_QUANTS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline void DecodeQ8_0(const std::byte* in, int64_t blocks, float* out) {
  const hn::CappedTag<float, 32> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<int8_t, decltype(df)> di8;
  const size_t lanes = hn::Lanes(df);
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += 34, out += 32) {
    const auto scale = hn::Set(df, f16_at(block));
    const auto* q = reinterpret_cast<const int8_t*>(block + 2);
    for (size_t i = 0; i < 32; i += lanes) {
      const auto value = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(di8, q + i)));
      hn::StoreU(hn::Mul(scale, value), df, out + i);
    }
  }
}

// Four bits a value, the first sixteen values in low nibbles, the others in high ones; perhaps a fifth bit each in a
// word before them. d * (level - half) without a minimum, else d * level + m.
template <bool kFifthBit, bool kMinimum>
void DecodeNibbles(const std::byte* in, int64_t blocks, float* out) {
  constexpr int kScaleBytes = kMinimum ? 4 : 2, kLevelBytes = kFifthBit ? 20 : 16;
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const size_t lanes = hn::Lanes(df);
  const auto half = hn::Set(di, kMinimum ? 0 : kFifthBit ? 16 : 8), sixteen = hn::Set(di, 16);
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += kScaleBytes + kLevelBytes, out += 32) {
    const auto scale = hn::Set(df, f16_at(block)), minimum = hn::Set(df, kMinimum ? f16_at(block + 2) : 0);
    int32_t fifth_bits = 0;
    if constexpr (kFifthBit) std::memcpy(&fifth_bits, block + kScaleBytes, sizeof fifth_bits);
    const auto fifth = hn::Set(di, fifth_bits);
    const auto store = [&](auto level, size_t i) HWY_ATTR {
      if constexpr (kFifthBit) {
        const auto own_bit = hn::Shl(hn::Set(di, 1), hn::Iota(di, static_cast<int32_t>(i)));
        level = hn::Or(level, hn::IfThenElseZero(hn::TestBit(fifth, own_bit), sixteen));
      }
      const auto product = hn::Mul(scale, hn::ConvertTo(df, hn::Sub(level, half)));
      hn::StoreU(kMinimum ? hn::Add(product, minimum) : product, df, out + i);
    };
    for (size_t i = 0; i < 16; i += lanes) {
      const auto pair = hn::PromoteTo(di, hn::LoadU(du8, block + kScaleBytes + kLevelBytes - 16 + i));
      store(hn::And(pair, hn::Set(di, 15)), i);
      store(hn::ShiftRight<4>(pair), 16 + i);
    }
  }
}

inline void DecodeQ4_0(const std::byte* in, int64_t blocks, float* out) {
  DecodeNibbles<false, false>(in, blocks, out);
}
inline void DecodeQ4_1(const std::byte* in, int64_t blocks, float* out) { DecodeNibbles<false, true>(in, blocks, out); }
inline void DecodeQ5_0(const std::byte* in, int64_t blocks, float* out) { DecodeNibbles<true, false>(in, blocks, out); }
inline void DecodeQ5_1(const std::byte* in, int64_t blocks, float* out) { DecodeNibbles<true, true>(in, blocks, out); }

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_LEGACY_QUANTS_INL_H_
