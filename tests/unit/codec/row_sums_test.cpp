// Sums of scaled rows at every length around the vectors' own, against plain loops in double.
#include "codec/row_sums.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace veneer::codec {
namespace {

template <typename Real>
void expect_sums(double tolerance) {
  std::mt19937 generator(5);
  std::normal_distribution<float> normal;
  for (const int64_t terms : {0, 1, 5})
    for (int64_t count = 0; count <= 150; ++count) {
      const int64_t stride = count + 3;
      std::vector<float> rows(static_cast<size_t>(terms * stride));
      std::vector<Real> factors(static_cast<size_t>(terms)), y(static_cast<size_t>(count));
      for (float& value : rows) value = normal(generator);
      for (Real& value : factors) value = static_cast<Real>(normal(generator));
      for (Real& value : y) value = static_cast<Real>(normal(generator));
      std::vector<double> expected(y.begin(), y.end());
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < terms; ++j)
          expected[static_cast<size_t>(i)] += static_cast<double>(factors[static_cast<size_t>(j)]) *
                                              static_cast<double>(rows[static_cast<size_t>(j * stride + i)]);
      add_scaled_rows(rows.data(), stride, factors.data(), terms, count, y.data());
      for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], tolerance) << count << ", " << terms;
    }
}

// A few units in the last place of sums of size 10.
TEST(RowSums, InFloat32) { expect_sums<float>(5e-6); }
TEST(RowSums, InDouble) { expect_sums<double>(1e-14); }

// Of whole numbers every order of the additions gives the same sum.
TEST(RowSums, OfSquares) {
  std::mt19937 generator(6);
  const auto whole = [&generator] { return static_cast<int>(generator() % 9) - 4; };
  for (const int64_t rows : {1, 3, 4, 9})
    for (const int64_t terms : {0, 1, 5, 600})
      for (int64_t count = 0; count <= 70; ++count) {
        const int64_t stride = count + 3;
        std::vector<float> summed(static_cast<size_t>(terms * stride)), base(static_cast<size_t>(rows * count));
        std::vector<double> factors(static_cast<size_t>(rows * terms)), squares(static_cast<size_t>(rows), -1.0);
        for (float& value : summed) value = static_cast<float>(whole());
        for (float& value : base) value = static_cast<float>(whole());
        for (double& value : factors) value = whole();
        squares_of_sums({summed.data(), stride, terms, count}, base.data(), factors.data(), rows, squares.data());
        for (int64_t r = 0; r < rows; ++r) {
          double expected = 0;
          for (int64_t i = 0; i < count; ++i) {
            double sum = base[static_cast<size_t>(r * count + i)];
            for (int64_t j = 0; j < terms; ++j)
              sum += factors[static_cast<size_t>(r * terms + j)] * double{summed[static_cast<size_t>(j * stride + i)]};
            expected += sum * sum;
          }
          ASSERT_EQ(squares[static_cast<size_t>(r)], expected) << rows << " " << terms << " " << count;
        }
      }
}

}  // namespace
}  // namespace veneer::codec
