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

// The columns [begin, end) of one row.
inline void AddOneRow(const LowRankRows& p, const float* left, int64_t begin, int64_t end, float* out) {
  const hn::ScalableTag<float> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    auto sum = hn::LoadU(df, out + i);
    for (int64_t k = 0; k < p.rank; ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(df, left[k]), hn::LoadU(df, p.right + k * p.count + i)));
    hn::StoreU(sum, df, out + i);
  }
  for (; i < end; ++i)
    for (int64_t k = 0; k < p.rank; ++k) out[i] += left[k] * p.right[k * p.count + i];
}

// The columns [begin, end) of four rows: every piece of `right` that is loaded serves all four, whose sums are
// independent of each other.
inline void AddFourRows(const LowRankRows& p, const float* left, int64_t begin, int64_t end, float* out) {
  const hn::ScalableTag<float> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const int64_t n = p.out_stride, step = p.left_stride;
  int64_t i = begin;
  for (; i + 2 * lanes <= end; i += 2 * lanes) {
    float* const at = out + i;
    auto a0 = hn::LoadU(df, at), a1 = hn::LoadU(df, at + lanes);
    auto b0 = hn::LoadU(df, at + n), b1 = hn::LoadU(df, at + n + lanes);
    auto c0 = hn::LoadU(df, at + 2 * n), c1 = hn::LoadU(df, at + 2 * n + lanes);
    auto d0 = hn::LoadU(df, at + 3 * n), d1 = hn::LoadU(df, at + 3 * n + lanes);
    for (int64_t k = 0; k < p.rank; ++k) {
      const float* const line = p.right + k * p.count + i;
      const auto right0 = hn::LoadU(df, line), right1 = hn::LoadU(df, line + lanes);
      const auto a = hn::Set(df, left[k]), b = hn::Set(df, left[step + k]);
      const auto c = hn::Set(df, left[2 * step + k]), d = hn::Set(df, left[3 * step + k]);
      a0 = hn::Add(a0, hn::Mul(a, right0));
      a1 = hn::Add(a1, hn::Mul(a, right1));
      b0 = hn::Add(b0, hn::Mul(b, right0));
      b1 = hn::Add(b1, hn::Mul(b, right1));
      c0 = hn::Add(c0, hn::Mul(c, right0));
      c1 = hn::Add(c1, hn::Mul(c, right1));
      d0 = hn::Add(d0, hn::Mul(d, right0));
      d1 = hn::Add(d1, hn::Mul(d, right1));
    }
    hn::StoreU(a0, df, at);
    hn::StoreU(a1, df, at + lanes);
    hn::StoreU(b0, df, at + n);
    hn::StoreU(b1, df, at + n + lanes);
    hn::StoreU(c0, df, at + 2 * n);
    hn::StoreU(c1, df, at + 2 * n + lanes);
    hn::StoreU(d0, df, at + 3 * n);
    hn::StoreU(d1, df, at + 3 * n + lanes);
  }
  for (int64_t row = 0; row < 4; ++row) AddOneRow(p, left + row * step, i, end, out + row * n);
}

// In strips of columns of which `right` has so few that they stay in the nearest cache for all rows.
inline void AddLowRank(const LowRankRows& p, int64_t rows, float* out) {
  constexpr int64_t kStrip = 128;
  for (int64_t begin = 0; begin < p.count; begin += kStrip) {
    const int64_t end = std::min(begin + kStrip, p.count);
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4)
      AddFourRows(p, p.left + row * p.left_stride, begin, end, out + row * p.out_stride);
    for (; row < rows; ++row) AddOneRow(p, p.left + row * p.left_stride, begin, end, out + row * p.out_stride);
  }
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_SDNQ_RUNS_INL_H_
