// The vector loops of k_quants.cpp, compiled once for each target.
#if defined(VENEER_CODEC_K_QUANTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_CODEC_K_QUANTS_INL_H_
#undef VENEER_CODEC_K_QUANTS_INL_H_
#else
#define VENEER_CODEC_K_QUANTS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 32 bytes hold two groups: the first in the low nibbles, the second in the high ones.
inline void DecodeQ4_K(const std::byte* in, int64_t blocks, float* out) {
  const hn::CappedTag<float, 32> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const size_t lanes = hn::Lanes(df);
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += 144) {
    const float d = f16_at(block), dm = f16_at(block + 2);
    for (int pair = 0; pair < 4; ++pair, out += 64) {
      const GroupScale first = group_scale(block + 4, 2 * pair), second = group_scale(block + 4, 2 * pair + 1);
      const auto first_scale = hn::Set(df, d * static_cast<float>(first.scale));
      const auto first_minimum = hn::Set(df, dm * static_cast<float>(first.minimum));
      const auto second_scale = hn::Set(df, d * static_cast<float>(second.scale));
      const auto second_minimum = hn::Set(df, dm * static_cast<float>(second.minimum));
      for (size_t i = 0; i < 32; i += lanes) {
        const auto bytes = hn::PromoteTo(di, hn::LoadU(du8, block + 16 + 32 * pair + i));
        const auto low = hn::ConvertTo(df, hn::And(bytes, hn::Set(di, 15)));
        const auto high = hn::ConvertTo(df, hn::ShiftRight<4>(bytes));
        hn::StoreU(hn::Sub(hn::Mul(first_scale, low), first_minimum), df, out + i);
        hn::StoreU(hn::Sub(hn::Mul(second_scale, high), second_minimum), df, out + 32 + i);
      }
    }
  }
}

// In each half of a block, 64 bytes hold the low four bits of 128 values and 32 bytes their upper two: four parts of
// 32 values, two in low nibbles and two in high ones. A scale belongs to 16 values, so a vector has one of them.
inline void DecodeQ6_K(const std::byte* in, int64_t blocks, float* out) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const size_t lanes = hn::Lanes(df);
  const auto nibble_mask = hn::Set(di, 15), upper_mask = hn::Set(di, 0x30);
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += 210) {
    const float d = f16_at(block + 208);
    for (int half = 0; half < 2; ++half, out += 128) {
      const uint8_t* low = block + 64 * half;
      const uint8_t* upper = block + 128 + 32 * half;
      const auto* scales = reinterpret_cast<const int8_t*>(block + 192 + 8 * half);
      for (size_t i = 0; i < 32; i += lanes) {
        const auto a = hn::PromoteTo(di, hn::LoadU(du8, low + i));
        const auto c = hn::PromoteTo(di, hn::LoadU(du8, low + 32 + i));
        const auto u = hn::PromoteTo(di, hn::LoadU(du8, upper + i));
        const auto store = [&](size_t part, auto four_bits, auto two_bits) HWY_ATTR {
          const auto scale = hn::Set(df, d * static_cast<float>(scales[2 * part + i / 16]));
          const auto q = hn::Sub(hn::Or(four_bits, hn::And(two_bits, upper_mask)), hn::Set(di, 32));
          hn::StoreU(hn::Mul(scale, hn::ConvertTo(df, q)), df, out + 32 * part + i);
        };
        store(0, hn::And(a, nibble_mask), hn::ShiftLeft<4>(u));
        store(1, hn::And(c, nibble_mask), hn::ShiftLeft<2>(u));
        store(2, hn::ShiftRight<4>(a), u);
        store(3, hn::ShiftRight<4>(c), hn::ShiftRight<2>(u));
      }
    }
  }
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_K_QUANTS_INL_H_
