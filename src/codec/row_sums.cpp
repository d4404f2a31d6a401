// A few vectors of sums stay in registers while all rows pass.
#include "codec/row_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/row_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As many values of a row as a vector of sums has.
HWY_INLINE hn::Vec<hn::ScalableTag<float>> LoadValues(hn::ScalableTag<float> d, const float* from) {
  return hn::LoadU(d, from);
}
HWY_INLINE hn::Vec<hn::ScalableTag<double>> LoadValues(hn::ScalableTag<double> d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, hn::ScalableTag<double>>(), from));
}

template <int64_t kVectors, typename Real>
HWY_INLINE void SumColumns(const float* rows, int64_t stride, const Real* factors, int64_t terms, Real* y) {
  const hn::ScalableTag<Real> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, y + v * lanes);
  for (int64_t j = 0; j < terms; ++j) {
    const auto factor = hn::Set(d, factors[j]);
    for (int64_t v = 0; v < kVectors; ++v)
      sums[v] = hn::MulAdd(factor, LoadValues(d, rows + j * stride + v * lanes), sums[v]);
  }
  for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + v * lanes);
}

template <typename Real>
HWY_INLINE void AddRows(const float* rows, int64_t stride, const Real* factors, int64_t terms, int64_t count, Real* y) {
  constexpr int64_t kVectors = 8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<Real>()));
  int64_t i = 0;
  for (; i + kVectors * lanes <= count; i += kVectors * lanes)
    SumColumns<kVectors>(rows + i, stride, factors, terms, y + i);
  for (; i + lanes <= count; i += lanes) SumColumns<1>(rows + i, stride, factors, terms, y + i);
  for (; i < count; ++i)
    for (int64_t j = 0; j < terms; ++j) y[i] += factors[j] * static_cast<Real>(rows[j * stride + i]);
}

void AddToFloats(const float* rows, int64_t stride, const float* factors, int64_t terms, int64_t count, float* y) {
  AddRows(rows, stride, factors, terms, count, y);
}
void AddToDoubles(const float* rows, int64_t stride, const double* factors, int64_t terms, int64_t count, double* y) {
  AddRows(rows, stride, factors, terms, count, y);
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(AddToFloats);
HWY_EXPORT(AddToDoubles);

void add_scaled_rows(const float* rows, int64_t stride, const float* factors, int64_t terms, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(AddToFloats)(rows, stride, factors, terms, count, y);
}

void add_scaled_rows(const float* rows, int64_t stride, const double* factors, int64_t terms, int64_t count,
                     double* y) {
  HWY_DYNAMIC_DISPATCH(AddToDoubles)(rows, stride, factors, terms, count, y);
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
