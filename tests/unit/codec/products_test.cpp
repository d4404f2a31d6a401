// The product's vector loops against a plain one.
#include "codec/products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace veneer::codec {
namespace {

template <typename Real>
class Products : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Products, Reals);

// To the bit on every processor. Rows by sixes and left over, columns by vectors, in strips and left over; all three as
// parts of wider matrices, of which the other columns stay as they are.
TYPED_TEST(Products, EqualAPlainLoop) {
  constexpr int64_t kInner = 5, kLeftStride = 7;
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const int64_t rows : {1, 5, 6, 13})
    for (const int64_t columns : {1, 7, 31, 64, 100, 300}) {
      const int64_t width = columns + 3, right_stride = columns + 2;
      std::vector<TypeParam> left(static_cast<size_t>(rows * kLeftStride)),
          right(static_cast<size_t>(kInner * right_stride)), out(static_cast<size_t>(rows * width), 0.5f);
      for (TypeParam& value : left) value = static_cast<TypeParam>(normal(random));
      for (TypeParam& value : right) value = static_cast<TypeParam>(normal(random));
      std::vector<TypeParam> expected = out;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < columns; ++i)
          for (int64_t k = 0; k < kInner; ++k) {
            TypeParam& sum = expected[static_cast<size_t>(r * width + i)];
            sum = std::fma(left[static_cast<size_t>(r * kLeftStride + k)],
                           right[static_cast<size_t>(k * right_stride + i)], sum);
          }
      add_product(Product<TypeParam>{left.data(), kLeftStride, right.data(), right_stride, kInner, columns, width},
                  rows, out.data());
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(TypeParam)), 0) << rows << " " << columns;
    }
}

}  // namespace
}  // namespace veneer::codec
