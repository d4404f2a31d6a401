// A product of two matrices added to a third, on one thread: for low-rank parts of weights and small dense algebra.
// Sums are fused (std::fma) and run in the order of the inner index on every processor, so that all give the same bits.
#pragma once

#include <cstdint>

namespace veneer::codec {

template <typename Real>
struct Product {
  const Real* left;  // [rows, inner], its rows `left_stride` apart
  int64_t left_stride;
  const Real* right;  // [inner, columns], its rows `right_stride` apart
  int64_t right_stride;
  int64_t inner, columns;
  int64_t out_stride;
};

// out[r][i] += left[r][k] * right[k][i] for each k in turn; `out` is [rows, columns], its rows `out_stride` apart, and
// overlaps neither factor.
void add_product(const Product<float>& product, int64_t rows, float* out);
void add_product(const Product<double>& product, int64_t rows, double* out);

}  // namespace veneer::codec
