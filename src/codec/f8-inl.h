// The vector loops of f8.cpp, compiled once for each target.
#if defined(VENEER_CODEC_F8_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_CODEC_F8_INL_H_
#undef VENEER_CODEC_F8_INL_H_
#else
#define VENEER_CODEC_F8_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bits of the float32 for codes without their sign bit, infinity and NaN apart. `scale` is the value of code 1, the
// smallest subnormal.
template <int kMantissa, int kBias, class DI, class V>
V F8FiniteBits(DI di, V magnitude, float scale) {
  const hn::RebindToFloat<DI> df;
  const auto normal = hn::Add(hn::ShiftLeft<23 - kMantissa>(magnitude), hn::Set(di, (127 - kBias) << 23));
  const auto subnormal = hn::BitCast(di, hn::Mul(hn::ConvertTo(df, magnitude), hn::Set(df, scale)));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 1 << kMantissa)), subnormal, normal);
}

struct E4M3 {
  static float One(uint8_t code) { return f8_e4m3_to_f32(code); }
  template <class DI, class V>
  static V Bits(DI di, V magnitude) {
    const auto is_nan = hn::Eq(magnitude, hn::Set(di, 0x7F));
    return hn::IfThenElse(is_nan, hn::Set(di, 0x7FC00000), F8FiniteBits<3, 7>(di, magnitude, 0x1p-9f));
  }
};

struct E5M2 {
  static float One(uint8_t code) { return f8_e5m2_to_f32(code); }
  template <class DI, class V>
  static V Bits(DI di, V magnitude) {
    // Beyond the finite codes the exponent field goes from 143 to 255, and a NaN is made quiet.
    const auto infinite = hn::Set(di, 0x7C);
    const auto quiet = hn::IfThenElseZero(hn::Gt(magnitude, infinite), hn::Set(di, 0x400000));
    const auto special = hn::Or(hn::Or(hn::ShiftLeft<21>(magnitude), hn::Set(di, 0x7F800000)), quiet);
    return hn::IfThenElse(hn::Lt(magnitude, infinite), F8FiniteBits<2, 15>(di, magnitude, 0x1p-16f), special);
  }
};

template <class Kind>
void F8ToF32(const std::byte* in, int64_t count, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* codes = reinterpret_cast<const uint8_t*>(in);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto code = hn::PromoteTo(di, hn::LoadU(du8, codes + i));
    const auto sign = hn::ShiftLeft<24>(hn::And(code, hn::Set(di, 0x80)));
    const auto bits = Kind::Bits(di, hn::And(code, hn::Set(di, 0x7F)));
    hn::StoreU(hn::BitCast(df, hn::Or(sign, bits)), df, out + i);
  }
  for (; i < count; ++i) out[i] = Kind::One(codes[i]);
}

inline void E4M3ToF32(const std::byte* in, int64_t count, float* out) { F8ToF32<E4M3>(in, count, out); }
inline void E5M2ToF32(const std::byte* in, int64_t count, float* out) { F8ToF32<E5M2>(in, count, out); }

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_F8_INL_H_
