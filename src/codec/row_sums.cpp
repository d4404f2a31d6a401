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

// Of kRows rows; what is loaded of the terms' rows serves all of them.
template <int64_t kRows>
HWY_INLINE void SquaresOf(const SummedRows& p, const float* base, const double* factors, double* squares) {
  constexpr int64_t kVectors = 2;
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> totals[kRows];
  for (auto& total : totals) total = hn::Zero(d);
  int64_t i = 0;
  for (; i + kVectors * lanes <= p.count; i += kVectors * lanes) {
    hn::Vec<decltype(d)> sums[kRows][kVectors];
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = LoadValues(d, base + r * p.count + i + v * lanes);
    for (int64_t j = 0; j < p.terms; ++j)
      for (int64_t v = 0; v < kVectors; ++v) {
        const auto values = LoadValues(d, p.rows + j * p.stride + i + v * lanes);
        for (int64_t r = 0; r < kRows; ++r)
          sums[r][v] = hn::MulAdd(hn::Set(d, factors[r * p.terms + j]), values, sums[r][v]);
      }
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t v = 0; v < kVectors; ++v) totals[r] = hn::MulAdd(sums[r][v], sums[r][v], totals[r]);
  }
  for (int64_t r = 0; r < kRows; ++r) squares[r] = hn::GetLane(hn::SumOfLanes(d, totals[r]));
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t k = i; k < p.count; ++k) {
      auto sum = static_cast<double>(base[r * p.count + k]);
      for (int64_t j = 0; j < p.terms; ++j)
        sum += factors[r * p.terms + j] * static_cast<double>(p.rows[j * p.stride + k]);
      squares[r] += sum * sum;
    }
}

void Squares(const SummedRows& p, const float* base, const double* factors, int64_t rows, double* squares) {
  constexpr int64_t kTogether = 4;
  int64_t r = 0;
  for (; r + kTogether <= rows; r += kTogether)
    SquaresOf<kTogether>(p, base + r * p.count, factors + r * p.terms, squares + r);
  for (; r < rows; ++r) SquaresOf<1>(p, base + r * p.count, factors + r * p.terms, squares + r);
}

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(AddToFloats);
HWY_EXPORT(AddToDoubles);
HWY_EXPORT(Squares);

void add_scaled_rows(const float* rows, int64_t stride, const float* factors, int64_t terms, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(AddToFloats)(rows, stride, factors, terms, count, y);
}

void add_scaled_rows(const float* rows, int64_t stride, const double* factors, int64_t terms, int64_t count,
                     double* y) {
  HWY_DYNAMIC_DISPATCH(AddToDoubles)(rows, stride, factors, terms, count, y);
}

void squares_of_sums(const SummedRows& summed, const float* base, const double* factors, int64_t rows,
                     double* squares) {
  HWY_DYNAMIC_DISPATCH(Squares)(summed, base, factors, rows, squares);
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
