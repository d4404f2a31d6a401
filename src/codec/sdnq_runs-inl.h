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

// `kRows` rows and `kWide` vectors of columns from `begin` on: what is loaded of `right` serves all the rows, whose
// sums are independent of each other and stay in registers.
template <int kRows, int kWide>
HWY_INLINE void AddBlock(const LowRankRows& p, const float* left, int64_t begin, float* out) {
  const hn::CappedTag<float, 16> df;
  constexpr auto kLanes = static_cast<int64_t>(HWY_MIN(HWY_LANES(float), 16));
  hn::Vec<decltype(df)> sums[kRows][kWide];
  for (int row = 0; row < kRows; ++row)
    for (int j = 0; j < kWide; ++j) sums[row][j] = hn::LoadU(df, out + row * p.out_stride + begin + j * kLanes);
  for (int64_t k = 0; k < p.rank; ++k) {
    const float* const line = p.right + k * p.count + begin;
    for (int row = 0; row < kRows; ++row) {
      const auto factor = hn::Set(df, left[row * p.left_stride + k]);
      for (int j = 0; j < kWide; ++j) sums[row][j] = hn::MulAdd(factor, hn::LoadU(df, line + j * kLanes), sums[row][j]);
    }
  }
  for (int row = 0; row < kRows; ++row)
    for (int j = 0; j < kWide; ++j) hn::StoreU(sums[row][j], df, out + row * p.out_stride + begin + j * kLanes);
}

// The columns [begin, end) of `kRows` rows. A processor without fused multiply-add gets its bits one by one.
template <int kRows>
void AddColumns(const LowRankRows& p, const float* left, int64_t begin, int64_t end, float* out) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_MIN(HWY_LANES(float), 16));
  int64_t i = begin;
  if constexpr (HWY_TARGET <= HWY_AVX2) {
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) AddBlock<kRows, 2>(p, left, i, out);
    for (; i + kLanes <= end; i += kLanes) AddBlock<kRows, 1>(p, left, i, out);
  }
  for (int row = 0; row < kRows; ++row)
    for (int64_t j = i; j < end; ++j) {
      float& sum = out[row * p.out_stride + j];
      for (int64_t k = 0; k < p.rank; ++k) sum = std::fma(left[row * p.left_stride + k], p.right[k * p.count + j], sum);
    }
}

// In strips of columns of which `right` has so few that they stay in the nearest cache for all rows.
inline void AddLowRank(const LowRankRows& p, int64_t rows, float* out) {
  constexpr int64_t kStrip = 128;
  constexpr int kTogether = 6;
  for (int64_t begin = 0; begin < p.count; begin += kStrip) {
    const int64_t end = std::min(begin + kStrip, p.count);
    int64_t row = 0;
    for (; row + kTogether <= rows; row += kTogether)
      AddColumns<kTogether>(p, p.left + row * p.left_stride, begin, end, out + row * p.out_stride);
    for (; row < rows; ++row) AddColumns<1>(p, p.left + row * p.left_stride, begin, end, out + row * p.out_stride);
  }
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_SDNQ_RUNS_INL_H_
