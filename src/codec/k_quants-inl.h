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

// Calls `store(part, i, bits)` for the two-bit values of one half of a block, which Q2_K and Q3_K keep in 32 bytes:
// `bits` are those of the values from 32 * part + i of the half on, with what lies above them still there.
template <class D, class Store>
HWY_INLINE void ForTwoBits(D di, const uint8_t* bytes, const Store& store) {
  const hn::Rebind<uint8_t, D> du8;
  for (size_t i = 0; i < 32; i += hn::Lanes(di)) {
    const auto q = hn::PromoteTo(di, hn::LoadU(du8, bytes + i));
    store(0, i, q);
    store(1, i, hn::ShiftRight<2>(q));
    store(2, i, hn::ShiftRight<4>(q));
    store(3, i, hn::ShiftRight<6>(q));
  }
}

inline void DecodeQ2_K(const std::byte* in, int64_t blocks, float* out) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += 84) {
    const float d = f16_at(block + 80), dm = f16_at(block + 82);
    for (size_t half = 0; half < 2; ++half, out += 128) {
      const uint8_t* packed = block + 8 * half;
      ForTwoBits(di, block + 16 + 32 * half, [&](size_t part, size_t i, auto bits) HWY_ATTR {
        const uint8_t group = packed[2 * part + i / 16];
        const auto scale = hn::Set(df, d * static_cast<float>(group & 15));
        const auto minimum = hn::Set(df, dm * static_cast<float>(group >> 4));
        const auto q = hn::ConvertTo(df, hn::And(bits, hn::Set(di, 3)));
        hn::StoreU(hn::Sub(hn::Mul(scale, q), minimum), df, out + 32 * part + i);
      });
    }
  }
}

// The third bit of value i of a half lies in byte i % 32, inverted: bit 4 * half + part.
inline void DecodeQ3_K(const std::byte* in, int64_t blocks, float* out) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += 110) {
    const float d = f16_at(block + 108);
    for (size_t half = 0; half < 2; ++half, out += 128) {
      ForTwoBits(di, block + 32 + 32 * half, [&](size_t part, size_t i, auto bits) HWY_ATTR {
        const int group = static_cast<int>(8 * half + 2 * part + i / 16);
        const auto scale = hn::Set(df, d * static_cast<float>(q3_k_scale(block + 96, group) - 32));
        const auto third = hn::And(hn::PromoteTo(di, hn::LoadU(du8, block + i)), hn::Set(di, 1 << (4 * half + part)));
        const auto less = hn::IfThenElseZero(hn::Eq(third, hn::Zero(di)), hn::Set(di, 4));
        const auto q = hn::Sub(hn::And(bits, hn::Set(di, 3)), less);
        hn::StoreU(hn::Mul(scale, hn::ConvertTo(df, q)), df, out + 32 * part + i);
      });
    }
  }
}

// As Q4_K, with the fifth bit of group g in bit g of 32 further bytes.
inline void DecodeQ5_K(const std::byte* in, int64_t blocks, float* out) {
  const hn::CappedTag<float, 32> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const size_t lanes = hn::Lanes(df);
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += 176) {
    const float d = f16_at(block), dm = f16_at(block + 2);
    for (int group = 0; group < 8; ++group, out += 32) {
      const GroupScale packed = group_scale(block + 4, group);
      const auto scale = hn::Set(df, d * static_cast<float>(packed.scale));
      const auto minimum = hn::Set(df, dm * static_cast<float>(packed.minimum));
      const auto fifth = hn::Set(di, 1 << group);
      for (size_t i = 0; i < 32; i += lanes) {
        const auto bytes = hn::PromoteTo(di, hn::LoadU(du8, block + 48 + group / 2 * 32 + i));
        const auto high = hn::And(hn::PromoteTo(di, hn::LoadU(du8, block + 16 + i)), fifth);
        const auto low = hn::And(hn::ShiftRightSame(bytes, group % 2 * 4), hn::Set(di, 15));
        const auto q = hn::Or(low, hn::IfThenZeroElse(hn::Eq(high, hn::Zero(di)), hn::Set(di, 16)));
        hn::StoreU(hn::Sub(hn::Mul(scale, hn::ConvertTo(df, q)), minimum), df, out + i);
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
