// A few vectors of sums stay in registers while all rows pass.
#include "codec/row_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/row_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <int64_t kVectors>
HWY_INLINE void SumColumns(const float* rows, int64_t stride, const float* factors, int64_t terms, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, y + v * lanes);
  for (int64_t j = 0; j < terms; ++j) {
    const auto factor = hn::Set(d, factors[j]);
    for (int64_t v = 0; v < kVectors; ++v)
      sums[v] = hn::MulAdd(factor, hn::LoadU(d, rows + j * stride + v * lanes), sums[v]);
  }
  for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + v * lanes);
}

void AddScaledRows(const float* rows, int64_t stride, const float* factors, int64_t terms, int64_t count, float* y) {
  constexpr int64_t kVectors = 8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t i = 0;
  for (; i + kVectors * lanes <= count; i += kVectors * lanes)
    SumColumns<kVectors>(rows + i, stride, factors, terms, y + i);
  for (; i + lanes <= count; i += lanes) SumColumns<1>(rows + i, stride, factors, terms, y + i);
  for (; i < count; ++i)
    for (int64_t j = 0; j < terms; ++j) y[i] += factors[j] * rows[j * stride + i];
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(AddScaledRows);

void add_scaled_rows(const float* rows, int64_t stride, const float* factors, int64_t terms, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(AddScaledRows)(rows, stride, factors, terms, count, y);
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
