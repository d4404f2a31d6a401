// The vector loops of sdnq_runs.cpp, compiled once for each target.
#if defined(VENEER_CODEC_SDNQ_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_CODEC_SDNQ_RUNS_INL_H_
#undef VENEER_CODEC_SDNQ_RUNS_INL_H_
#else
#define VENEER_CODEC_SDNQ_RUNS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline void NibblesToF32(const std::byte* in, int64_t count, int offset, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* source = reinterpret_cast<const uint8_t*>(in);
  const auto less = hn::Set(di, offset), mask = hn::Set(di, 15);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto pairs = hn::PromoteTo(di, hn::LoadU(du8, source + i / 2));
    const auto low = hn::ConvertTo(df, hn::Sub(hn::And(pairs, mask), less));
    const auto high = hn::ConvertTo(df, hn::Sub(hn::ShiftRight<4>(pairs), less));
    hn::StoreInterleaved2(low, high, df, out + i);
  }
  for (; i < count; ++i) out[i] = static_cast<float>(((source[i / 2] >> (i % 2 * 4)) & 15) - offset);
}

inline void CodesToF32(const uint16_t* in, int64_t count, int offset, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint16_t, decltype(df)> du16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto less = hn::Set(di, offset);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::ConvertTo(df, hn::Sub(hn::PromoteTo(di, hn::LoadU(du16, in + i)), less)), df, out + i);
  for (; i < count; ++i) out[i] = static_cast<float>(in[i] - offset);
}

// Below 2^mantissa a code counts units of the smallest number; above, its fields are those of a float32 with another
// bias.
inline void MinifloatsToF32(const uint16_t* in, int64_t count, const MinifloatBits& bits, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<uint16_t, decltype(df)> du16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const int magnitude_bits = bits.exponent + bits.mantissa;
  const auto magnitude_mask = hn::Set(di, (1 << magnitude_bits) - 1);
  const auto sign_mask = hn::Set(di, bits.has_sign ? 1 << magnitude_bits : 0);
  const auto first_normal = hn::Set(di, 1 << bits.mantissa), zero = hn::Zero(di);
  const auto rebias = hn::Set(di, (128 - (1 << (bits.exponent - 1))) << 23);
  const auto unit = hn::Set(df, minifloat(1, bits.exponent, bits.mantissa, false));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto code = hn::PromoteTo(di, hn::LoadU(du16, in + i));
    const auto magnitude = hn::And(code, magnitude_mask);
    const auto normal = hn::Add(hn::ShiftLeftSame(magnitude, 23 - bits.mantissa), rebias);
    const auto subnormal = hn::BitCast(di, hn::Mul(hn::ConvertTo(df, magnitude), unit));
    const auto value = hn::IfThenElse(hn::Lt(magnitude, first_normal), subnormal, normal);
    const auto negative = hn::And(hn::Ne(hn::And(code, sign_mask), zero), hn::Ne(magnitude, zero));
    const auto sign = hn::IfThenElseZero(negative, hn::Set(di, static_cast<int>(0x80000000u)));
    hn::StoreU(hn::BitCast(df, hn::Or(value, sign)), df, out + i);
  }
  for (; i < count; ++i) out[i] = minifloat(in[i], bits.exponent, bits.mantissa, bits.has_sign);
}

inline void ScaleRun(float* values, int64_t count, float scale, float zero) {
  const hn::ScalableTag<float> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto factor = hn::Set(df, scale), addend = hn::Set(df, zero);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::Mul(hn::LoadU(df, values + i), factor), addend), df, values + i);
  for (; i < count; ++i) values[i] = values[i] * scale + zero;
}

inline void ScaleEach(float* values, int64_t count, const float* scales, const float* zeros) {
  const hn::ScalableTag<float> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto scaled = hn::Mul(hn::LoadU(df, values + i), hn::LoadU(df, scales + i));
    hn::StoreU(hn::Add(scaled, hn::LoadU(df, zeros + i)), df, values + i);
  }
  for (; i < count; ++i) values[i] = values[i] * scales[i] + zeros[i];
}

// A period and a vector more of them in a row: a vector may begin anywhere in the period.
inline void Continue(const float* numbers, int64_t period, int64_t count, float* out) {
  for (int64_t i = 0, k = 0; i < count; ++i, k = k + 1 == period ? 0 : k + 1) out[i] = numbers[k];
}

inline void ScaleRepeating(float* values, int64_t count, const float* scales, const float* zeros, int64_t period) {
  const hn::CappedTag<float, 16> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  float scale[kMostPeriod + 16], zero[kMostPeriod + 16];
  Continue(scales, period, period + lanes, scale);
  Continue(zeros, period, period + lanes, zero);
  int64_t i = 0, k = 0;  // k = i % period
  const int64_t step = lanes % period;
  for (; i + lanes <= count; i += lanes) {
    const auto scaled = hn::Mul(hn::LoadU(df, values + i), hn::LoadU(df, scale + k));
    hn::StoreU(hn::Add(scaled, hn::LoadU(df, zero + k)), df, values + i);
    k += step;
    if (k >= period) k -= period;
  }
  for (; i < count; ++i, ++k) values[i] = values[i] * scale[k] + zero[k];
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_SDNQ_RUNS_INL_H_
