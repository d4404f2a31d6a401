// The low-rank part against matrices whose singular values are known.
#include "codec/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace veneer::codec {
namespace {

struct Matrix {
  int64_t rows, columns;
  std::vector<float> values;
};

std::vector<float> gaussian(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Orthonormal vectors by Gram and Schmidt.
std::vector<std::vector<float>> directions(int64_t count, int64_t size, unsigned seed) {
  std::vector<std::vector<float>> out;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float> next = gaussian(size, seed + static_cast<unsigned>(i));
    for (int round = 0; round < 2; ++round)
      for (const auto& other : out) {
        const auto along = static_cast<float>(dot(next, other));
        for (size_t k = 0; k < next.size(); ++k) next[k] -= along * other[k];
      }
    const auto length = static_cast<float>(std::sqrt(dot(next, next)));
    for (float& value : next) value /= length;
    out.push_back(next);
  }
  return out;
}

Matrix with_singular_values(int64_t rows, int64_t columns, const std::vector<double>& sigma) {
  const auto count = static_cast<int64_t>(sigma.size());
  const auto left = directions(count, rows, 100), right = directions(count, columns, 900);
  Matrix matrix{rows, columns, std::vector<float>(static_cast<size_t>(rows * columns))};
  for (size_t k = 0; k < sigma.size(); ++k)
    for (size_t i = 0; i < left[k].size(); ++i)
      for (size_t j = 0; j < right[k].size(); ++j)
        matrix.values[i * right[k].size() + j] += static_cast<float>(sigma[k] * left[k][i] * right[k][j]);
  return matrix;
}

// The length of what up x down leaves of the matrix.
double distance(const Matrix& matrix, const LowRank& part) {
  double sum = 0;
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j) {
      double value = matrix.values[static_cast<size_t>(i * matrix.columns + j)];
      for (int64_t k = 0; k < part.rank; ++k)
        value -= static_cast<double>(part.up[static_cast<size_t>(i * part.rank + k)]) *
                 part.down[static_cast<size_t>(k * matrix.columns + j)];
      sum += value * value;
    }
  return std::sqrt(sum);
}

double length_beyond(const std::vector<double>& sigma, size_t rank) {
  double sum = 0;
  for (size_t k = rank; k < sigma.size(); ++k) sum += sigma[k] * sigma[k];
  return std::sqrt(sum);
}

TEST(LowRank, HoldsAMatrixOfThatRank) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{150, 90}, {90, 150}, {200, 3}}) {
    const std::vector<double> sigma = {5, 3, 0.5};
    const Matrix matrix = with_singular_values(rows, columns, sigma);
    const LowRank part = low_rank(matrix.values, rows, columns, 3);
    // A few units of float32's last place of the largest value, over a hundred terms a sum.
    EXPECT_LT(distance(matrix, part), 5 * 1e-6) << rows << " x " << columns;
  }
}

// No product of that rank is nearer than the singular values beyond it allow (Eckart and Young); ours comes within a
// hundredth although values fall slowly.
TEST(LowRank, IsNearlyTheBestThereIs) {
  std::vector<double> sigma;
  for (int k = 0; k < 110; ++k) sigma.push_back(10.0 / (1 + 0.1 * k));
  const Matrix matrix = with_singular_values(130, 160, sigma);
  for (const int64_t rank : {1, 8, 32}) {
    const double best = length_beyond(sigma, static_cast<size_t>(rank));
    const double found = distance(matrix, low_rank(matrix.values, 130, 160, rank));
    EXPECT_LT(found, best * 1.01) << rank;
    EXPECT_GT(found, best * 0.9999) << rank;
  }
}

TEST(LowRank, FactorsAreOrderedAndOrthonormal) {
  const Matrix matrix{40, 60, gaussian(40 * 60, 5)};
  const LowRank part = low_rank(matrix.values, 40, 60, 6);
  double before = 1e30;
  for (size_t a = 0; a < 6; ++a) {
    double length = 0;
    for (size_t j = 0; j < 60; ++j) length += std::pow(part.down[a * 60 + j], 2);
    EXPECT_LE(length, before);
    before = length;
    for (size_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (size_t i = 0; i < 40; ++i) sum += static_cast<double>(part.up[i * 6 + a]) * part.up[i * 6 + b];
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-5);
    }
  }
}

TEST(LowRank, TakesWholeMatricesZerosAndSingleRows) {
  const Matrix square{7, 5, gaussian(35, 8)};
  EXPECT_LT(distance(square, low_rank(square.values, 7, 5, 5)), 1e-5);
  const Matrix zero{9, 8, std::vector<float>(72)};
  EXPECT_EQ(distance(zero, low_rank(zero.values, 9, 8, 4)), 0);
  const Matrix row{1, 50, gaussian(50, 9)};
  EXPECT_LT(distance(row, low_rank(row.values, 1, 50, 1)), 1e-5);
  EXPECT_THROW(low_rank(row.values, 1, 50, 2), std::logic_error);
  EXPECT_THROW(low_rank(row.values, 1, 50, 0), std::logic_error);
  EXPECT_THROW(low_rank(row.values, 2, 50, 1), std::logic_error);
}

TEST(LowRank, IsTheSameEveryTime) {
  const std::vector<float> values = gaussian(64 * 96, 10);
  const LowRank a = low_rank(values, 64, 96, 8), b = low_rank(values, 64, 96, 8);
  EXPECT_EQ(a.up, b.up);
  EXPECT_EQ(a.down, b.down);
}

}  // namespace
}  // namespace veneer::codec
