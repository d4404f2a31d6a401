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

template <class D>
struct VectorScale {
  VectorScale(D d, const CodeScale& s)
      : offset(hn::Set(d, s.offset)), scale(hn::Set(d, s.scale)), zero(hn::Set(d, s.zero)) {}
  hn::Vec<D> operator()(hn::Vec<D> codes) const { return hn::Add(hn::Mul(hn::Sub(codes, offset), scale), zero); }
  hn::Vec<D> offset, scale, zero;
};

inline float ScaleOne(int code, const CodeScale& s) { return (static_cast<float>(code) - s.offset) * s.scale + s.zero; }

inline void ScaleNibbles(const std::byte* in, int64_t count, const CodeScale& scale, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di32;
  const hn::Rebind<uint8_t, decltype(df)> du8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* source = reinterpret_cast<const uint8_t*>(in);
  const VectorScale scaled(df, scale);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto pairs = hn::PromoteTo(di32, hn::LoadU(du8, source + i / 2));
    const auto low = scaled(hn::ConvertTo(df, hn::And(pairs, hn::Set(di32, 15))));
    const auto high = scaled(hn::ConvertTo(df, hn::ShiftRight<4>(pairs)));
    hn::StoreInterleaved2(low, high, df, out + i);
  }
  for (; i < count; ++i) out[i] = ScaleOne((source[i / 2] >> (i % 2 * 4)) & 15, scale);
}

inline void ScaleInt8(const std::byte* in, int64_t count, const CodeScale& scale, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di32;
  const hn::Rebind<int8_t, decltype(df)> di8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* source = reinterpret_cast<const int8_t*>(in);
  const VectorScale scaled(df, scale);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(scaled(hn::ConvertTo(df, hn::PromoteTo(di32, hn::LoadU(di8, source + i)))), df, out + i);
  for (; i < count; ++i) out[i] = ScaleOne(source[i], scale);
}

// Four vectors of sums stay in registers while the ranks pass by.
inline void AddLowRank(const float* left, const float* right, int64_t rank, int64_t count, float* out) {
  const hn::ScalableTag<float> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    auto sum0 = hn::LoadU(df, out + i), sum1 = hn::LoadU(df, out + i + lanes);
    auto sum2 = hn::LoadU(df, out + i + 2 * lanes), sum3 = hn::LoadU(df, out + i + 3 * lanes);
    for (int64_t k = 0; k < rank; ++k) {
      const auto factor = hn::Set(df, left[k]);
      const float* line = right + k * count + i;
      sum0 = hn::Add(sum0, hn::Mul(factor, hn::LoadU(df, line)));
      sum1 = hn::Add(sum1, hn::Mul(factor, hn::LoadU(df, line + lanes)));
      sum2 = hn::Add(sum2, hn::Mul(factor, hn::LoadU(df, line + 2 * lanes)));
      sum3 = hn::Add(sum3, hn::Mul(factor, hn::LoadU(df, line + 3 * lanes)));
    }
    hn::StoreU(sum0, df, out + i);
    hn::StoreU(sum1, df, out + i + lanes);
    hn::StoreU(sum2, df, out + i + 2 * lanes);
    hn::StoreU(sum3, df, out + i + 3 * lanes);
  }
  for (; i < count; ++i)
    for (int64_t k = 0; k < rank; ++k) out[i] += left[k] * right[k * count + i];
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // VENEER_CODEC_SDNQ_RUNS_INL_H_
