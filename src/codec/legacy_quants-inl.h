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

inline void DecodeQ4_0(const std::byte* in, int64_t blocks, float* out) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const size_t lanes = hn::Lanes(df);
  const auto eight = hn::Set(di, 8);
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b, block += 18, out += 32) {
    const auto scale = hn::Set(df, f16_at(block));
    for (size_t i = 0; i < 16; i += lanes) {
      const auto pair = hn::PromoteTo(di, hn::LoadU(du8, block + 2 + i));
      const auto low = hn::Sub(hn::And(pair, hn::Set(di, 15)), eight);
      const auto high = hn::Sub(hn::ShiftRight<4>(pair), eight);
      hn::StoreU(hn::Mul(scale, hn::ConvertTo(df, low)), df, out + i);
      hn::StoreU(hn::Mul(scale, hn::ConvertTo(df, high)), df, out + 16 + i);
    }
  }
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_LEGACY_QUANTS_INL_H_
