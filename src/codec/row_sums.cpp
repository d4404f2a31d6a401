// A few vectors of sums stay in registers while all rows pass.
#include "codec/row_sums.h"

#include <algorithm>
#include <vector>

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

// Some columns of the summed rows, [terms, width], and of the rows that they are added to, `stride` apart.
struct Strip {
  const double* summed;
  int64_t terms, width;
  const float* base;
  int64_t stride;
};

// Of kRows rows from `row` on; what is loaded of the summed rows serves all of them.
template <int64_t kRows>
HWY_INLINE void AddSquares(const Strip& strip, int64_t row, const double* all_factors, double* squares) {
  constexpr int64_t kVectors = 2;
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* base = strip.base + row * strip.stride;
  const double* factors = all_factors + row * strip.terms;
  hn::Vec<decltype(d)> totals[kRows];
  for (auto& total : totals) total = hn::Zero(d);
  int64_t i = 0;
  for (; i + kVectors * lanes <= strip.width; i += kVectors * lanes) {
    hn::Vec<decltype(d)> sums[kRows][kVectors];
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = LoadValues(d, base + r * strip.stride + i + v * lanes);
    for (int64_t j = 0; j < strip.terms; ++j)
      for (int64_t v = 0; v < kVectors; ++v) {
        const auto values = hn::LoadU(d, strip.summed + j * strip.width + i + v * lanes);
        for (int64_t r = 0; r < kRows; ++r)
          sums[r][v] = hn::MulAdd(hn::Set(d, factors[r * strip.terms + j]), values, sums[r][v]);
      }
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t v = 0; v < kVectors; ++v) totals[r] = hn::MulAdd(sums[r][v], sums[r][v], totals[r]);
  }
  for (int64_t r = 0; r < kRows; ++r) squares[row + r] += hn::GetLane(hn::SumOfLanes(d, totals[r]));
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t k = i; k < strip.width; ++k) {
      auto sum = static_cast<double>(base[r * strip.stride + k]);
      for (int64_t j = 0; j < strip.terms; ++j) sum += factors[r * strip.terms + j] * strip.summed[j * strip.width + k];
      squares[row + r] += sum * sum;
    }
}

// In strips of columns of which the terms have so few that they stay in the nearest cache for all rows, as doubles.
void Squares(const SummedRows& p, const float* base, const double* factors, int64_t rows, double* squares) {
  constexpr int64_t kTogether = 6, kCachedValues = 4096, kLeastWidth = 32;
  const int64_t most = std::max(kLeastWidth, kCachedValues / std::max<int64_t>(1, p.terms) / kLeastWidth * kLeastWidth);
  std::vector<double> summed(static_cast<size_t>(p.terms * most));
  std::fill_n(squares, rows, 0.0);
  for (int64_t begin = 0; begin < p.count; begin += most) {
    const int64_t width = std::min(most, p.count - begin);
    for (int64_t j = 0; j < p.terms; ++j) std::copy_n(p.rows + j * p.stride + begin, width, summed.data() + j * width);
    const Strip strip{summed.data(), p.terms, width, base + begin, p.count};
    int64_t row = 0;
    for (; row + kTogether <= rows; row += kTogether) AddSquares<kTogether>(strip, row, factors, squares);
    for (; row + 2 <= rows; row += 2) AddSquares<2>(strip, row, factors, squares);
    for (; row < rows; ++row) AddSquares<1>(strip, row, factors, squares);
  }
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
