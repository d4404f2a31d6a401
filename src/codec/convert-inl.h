// The vector loops of convert.cpp, compiled once for each target.
#if defined(VENEER_CODEC_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_CODEC_CONVERT_INL_H_
#undef VENEER_CODEC_CONVERT_INL_H_
#else
#define VENEER_CODEC_CONVERT_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Processors before AVX2 have no conversion of their own, and Highway's loses infinities there: they take the loop.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2
constexpr bool kConvertsHalves = false;
#else
constexpr bool kConvertsHalves = true;
#endif

inline void F16ToF32(const std::byte* in, int64_t count, float* out) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const hn::Rebind<uint16_t, decltype(df)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* source = reinterpret_cast<const uint16_t*>(in);
  int64_t i = 0;
  for (; kConvertsHalves && i + lanes <= count; i += lanes)
    hn::StoreU(hn::PromoteTo(df, hn::BitCast(dh, hn::LoadU(du, source + i))), df, out + i);
  for (; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, in + 2 * i, 2);
    out[i] = f16_to_f32(bits);
  }
}

inline void Bf16ToF32(const std::byte* in, int64_t count, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du32;
  const hn::Rebind<uint16_t, decltype(df)> du16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* source = reinterpret_cast<const uint16_t*>(in);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(du32, hn::LoadU(du16, source + i)));
    hn::StoreU(hn::BitCast(df, wide), df, out + i);
  }
  for (; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, in + 2 * i, 2);
    out[i] = bf16_to_f32(bits);
  }
}

// Whole numbers of 8 bits, T with or without a sign.
template <typename T>
void BytesToF32(const std::byte* in, int64_t count, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<T, decltype(df)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* source = reinterpret_cast<const T*>(in);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d8, source + i))), df, out + i);
  for (; i < count; ++i) out[i] = static_cast<float>(source[i]);
}

inline void I8ToF32(const std::byte* in, int64_t count, float* out) { BytesToF32<int8_t>(in, count, out); }
inline void U8ToF32(const std::byte* in, int64_t count, float* out) { BytesToF32<uint8_t>(in, count, out); }

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_CONVERT_INL_H_
