// Blocks of sums that stay in registers while the inner index runs.
#include "codec/products.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::codec::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename Real>
using Tag = hn::CappedTag<Real, 64 / sizeof(Real)>;
template <typename Real>
constexpr int64_t kLanes = HWY_MIN(HWY_LANES(Real), 64 / sizeof(Real));

// `kRows` rows and `kWide` vectors of columns from `begin` on: what is loaded of the right factor serves all the rows,
// whose sums are independent of each other.
template <int kRows, int kWide, typename Real>
HWY_INLINE void AddBlock(const Product<Real>& p, const Real* left, int64_t begin, Real* out) {
  const Tag<Real> d;
  hn::Vec<decltype(d)> sums[kRows][kWide];
  for (int row = 0; row < kRows; ++row)
    for (int j = 0; j < kWide; ++j) sums[row][j] = hn::LoadU(d, out + row * p.out_stride + begin + j * kLanes<Real>);
  for (int64_t k = 0; k < p.inner; ++k) {
    const Real* const line = p.right + k * p.right_stride + begin;
    for (int row = 0; row < kRows; ++row) {
      const auto factor = hn::Set(d, left[row * p.left_stride + k]);
      for (int j = 0; j < kWide; ++j)
        sums[row][j] = hn::MulAdd(factor, hn::LoadU(d, line + j * kLanes<Real>), sums[row][j]);
    }
  }
  for (int row = 0; row < kRows; ++row)
    for (int j = 0; j < kWide; ++j) hn::StoreU(sums[row][j], d, out + row * p.out_stride + begin + j * kLanes<Real>);
}

// The columns [begin, end) of `kRows` rows. A processor without fused multiply-add gets its bits one by one.
template <int kRows, typename Real>
void AddColumns(const Product<Real>& p, const Real* left, int64_t begin, int64_t end, Real* out) {
  int64_t i = begin;
  if constexpr (HWY_TARGET <= HWY_AVX2) {
    for (; i + 2 * kLanes<Real> <= end; i += 2 * kLanes<Real>) AddBlock<kRows, 2>(p, left, i, out);
    for (; i + kLanes<Real> <= end; i += kLanes<Real>) AddBlock<kRows, 1>(p, left, i, out);
  }
  for (int row = 0; row < kRows; ++row)
    for (int64_t j = i; j < end; ++j) {
      Real& sum = out[row * p.out_stride + j];
      for (int64_t k = 0; k < p.inner; ++k)
        sum = std::fma(left[row * p.left_stride + k], p.right[k * p.right_stride + j], sum);
    }
}

// As many rows from `row` on as there are, `kRows` at a time; the first that is left.
template <int kRows, typename Real>
int64_t AddRows(const Product<Real>& p, int64_t row, int64_t rows, int64_t begin, int64_t end, Real* out) {
  for (; row + kRows <= rows; row += kRows)
    AddColumns<kRows>(p, p.left + row * p.left_stride, begin, end, out + row * p.out_stride);
  return row;
}

// In strips of columns of which the right factor has so few that they stay in the nearest cache for all rows.
template <typename Real>
HWY_INLINE void AddStrips(const Product<Real>& p, int64_t rows, Real* out) {
  constexpr int64_t kStrip = 512 / sizeof(Real);
  for (int64_t begin = 0; begin < p.columns; begin += kStrip) {
    const int64_t end = std::min(begin + kStrip, p.columns);
    int64_t row = AddRows<6>(p, 0, rows, begin, end, out);
    row = AddRows<4>(p, row, rows, begin, end, out);
    AddRows<1>(p, row, rows, begin, end, out);
  }
}

void AddFloats(const Product<float>& product, int64_t rows, float* out) { AddStrips(product, rows, out); }
void AddDoubles(const Product<double>& product, int64_t rows, double* out) { AddStrips(product, rows, out); }

}  // namespace veneer::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(AddFloats);
HWY_EXPORT(AddDoubles);

void add_product(const Product<float>& product, int64_t rows, float* out) {
  HWY_DYNAMIC_DISPATCH(AddFloats)(product, rows, out);
}
void add_product(const Product<double>& product, int64_t rows, double* out) {
  HWY_DYNAMIC_DISPATCH(AddDoubles)(product, rows, out);
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
