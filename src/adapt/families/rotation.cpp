// Small dense algebra on blocks, all in double.
#include "adapt/families/rotation.h"

#include <algorithm>
#include <cmath>

namespace veneer::adapt {
namespace {

// Solves A X = B for n x n matrices by elimination with row exchange; A is destroyed, B becomes X. A = I - Q with a
// skew Q is never singular: its eigenvalues are 1 - i t.
void solve(double* a, double* b, int64_t n) {
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row)
      if (std::abs(a[row * n + column]) > std::abs(a[pivot * n + column])) pivot = row;
    if (pivot != column) {
      std::swap_ranges(a + pivot * n, a + (pivot + 1) * n, a + column * n);
      std::swap_ranges(b + pivot * n, b + (pivot + 1) * n, b + column * n);
    }
    const double inverse = 1 / a[column * n + column];
    for (int64_t j = 0; j < n; ++j) {
      a[column * n + j] *= inverse;
      b[column * n + j] *= inverse;
    }
    for (int64_t row = 0; row < n; ++row) {
      const double factor = a[row * n + column];
      if (row == column || factor == 0) continue;
      for (int64_t j = 0; j < n; ++j) {
        a[row * n + j] -= factor * a[column * n + j];
        b[row * n + j] -= factor * b[column * n + j];
      }
    }
  }
}

Blocks identity(int64_t count, int64_t n) {
  Blocks result{count, n, std::vector<double>(static_cast<size_t>(count * n * n))};
  for (int64_t b = 0; b < count; ++b)
    for (int64_t i = 0; i < n; ++i) result.block(b)[i * n + i] = 1;
  return result;
}

void add_scaled(const Blocks& from, double factor, Blocks& to) {
  for (size_t i = 0; i < to.values.size(); ++i) to.values[i] += factor * from.values[i];
}

Blocks product(const Blocks& a, const Blocks& b) {
  const int64_t n = a.n;
  Blocks result{a.count, n, std::vector<double>(a.values.size())};
  for (int64_t block = 0; block < a.count; ++block)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < n; ++k)
        for (int64_t j = 0; j < n; ++j)
          result.block(block)[i * n + j] += a.block(block)[i * n + k] * b.block(block)[k * n + j];
  return result;
}

}  // namespace

Blocks blocks_from(const Tensor& tensor) {
  const int64_t n = tensor.shape.back();
  const auto values = tensor.values();
  return {tensor.elements() / (n * n), n, {values.begin(), values.end()}};
}

Blocks skew_part(const Blocks& blocks, double factor) {
  Blocks skew = transposed(blocks);
  for (size_t i = 0; i < skew.values.size(); ++i) skew.values[i] = factor * (blocks.values[i] - skew.values[i]);
  return skew;
}

Blocks skew_from_triangles(const Tensor& triangles, int64_t n) {
  const int64_t count = triangles.shape[0];
  Blocks skew{count, n, std::vector<double>(static_cast<size_t>(count * n * n))};
  const float* value = triangles.f32();
  for (int64_t b = 0; b < count; ++b)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j, ++value) {
        skew.block(b)[i * n + j] = *value;
        skew.block(b)[j * n + i] = -static_cast<double>(*value);
      }
  return skew;
}

void limit_norm(Blocks& skew, double limit) {
  double squares = 0;
  for (const double value : skew.values) squares += value * value;
  const double norm = std::sqrt(squares) + 1e-8;  // LyCORIS' guard, part of the definition
  if (norm <= limit) return;
  for (double& value : skew.values) value *= limit / norm;
}

Blocks cayley(const Blocks& skew) {
  Blocks left = identity(skew.count, skew.n), right = left;
  add_scaled(skew, -1, left);
  add_scaled(skew, 1, right);
  // I + Q and (I - Q)^-1 commute, so the quotient is the same from either side.
  for (int64_t b = 0; b < skew.count; ++b) solve(left.block(b), right.block(b), skew.n);
  return right;
}

Blocks cayley_neumann(const Blocks& skew, int terms) {
  Blocks sum = identity(skew.count, skew.n), power = sum;
  for (int exponent = 1; exponent < terms; ++exponent) {
    power = product(power, skew);
    add_scaled(power, exponent < terms - 1 ? 2 : 1, sum);
  }
  return sum;
}

void interpolate(Blocks& rotations, double strength) {
  const Blocks eye = identity(rotations.count, rotations.n);
  for (size_t i = 0; i < eye.values.size(); ++i)
    rotations.values[i] = eye.values[i] + strength * (rotations.values[i] - eye.values[i]);
}

Blocks transposed(const Blocks& rotations) {
  const int64_t n = rotations.n;
  Blocks result = rotations;
  for (int64_t b = 0; b < rotations.count; ++b)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) result.block(b)[j * n + i] = rotations.block(b)[i * n + j];
  return result;
}

nn::Rotate rotate_term(const Blocks& rotations, nn::Side side, std::vector<int32_t> order) {
  return {to_tensor(rotations.values, {rotations.count, rotations.n, rotations.n}), std::move(order), side};
}

}  // namespace veneer::adapt
