// Small dense algebra on blocks, all in double.
#include "adapt/families/rotation.h"

#include <algorithm>
#include <cmath>

#include "codec/products.h"

namespace veneer::adapt {
namespace {

// Inverts `size` rows and columns of a matrix in place, by elimination. No rows are exchanged: the matrices here are I
// less a skew one, whose every pivot is at least 1, since x^T (I - Q) x = x^T x.
void invert_small(double* a, int64_t stride, int64_t size) {
  for (int64_t pivot = 0; pivot < size; ++pivot) {
    double* const pivot_row = a + pivot * stride;
    const double inverse = 1 / pivot_row[pivot];
    pivot_row[pivot] = 1;
    for (int64_t j = 0; j < size; ++j) pivot_row[j] *= inverse;
    for (int64_t i = 0; i < size; ++i) {
      if (i == pivot) continue;
      double* const row = a + i * stride;
      const double factor = row[pivot];
      row[pivot] = 0;
      for (int64_t j = 0; j < size; ++j) row[j] -= factor * pivot_row[j];
    }
  }
}

// Inverts a matrix of the same kind [n, n] in place: the same elimination, kBlock pivots at a time, so that nearly all
// of the work is products.
void invert(double* a, int64_t n) {
  constexpr int64_t kBlock = 64;
  std::vector<double> column(static_cast<size_t>(n * kBlock)), row(column.size());
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t size = std::min(kBlock, n - first);
    invert_small(a + first * n + first, n, size);
    // What stands in the pivots' columns, negated, makes room; then the pivots' rows times the inverse of their block.
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < size; ++j) {
        double& value = a[i * n + first + j];
        column[static_cast<size_t>(i * size + j)] = i >= first && i < first + size ? value : -value;
        if (i < first || i >= first + size) value = 0;
      }
    const double* const inverse = column.data() + first * size;
    std::copy_n(a + first * n, size * n, row.begin());
    for (int64_t i = 0; i < size; ++i) {
      std::fill_n(a + (first + i) * n, first, 0.0);
      std::fill_n(a + (first + i) * n + first + size, n - first - size, 0.0);
    }
    const auto add = [&](const double* left, const double* right, int64_t columns, int64_t rows, double* to) {
      codec::add_product(codec::Product<double>{left, size, right, n, size, columns, n}, rows, to);
    };
    add(inverse, row.data(), first, size, a + first * n);
    add(inverse, row.data() + first + size, n - first - size, size, a + first * n + first + size);
    add(column.data(), a + first * n, n, first, a);
    const int64_t behind = first + size;
    add(column.data() + behind * size, a + first * n, n, n - behind, a + behind * n);
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
  Blocks result = identity(skew.count, skew.n);
  add_scaled(skew, -1, result);
  // (I + Q) (I - Q)^-1 = 2 (I - Q)^-1 - I.
  for (int64_t b = 0; b < skew.count; ++b) invert(result.block(b), skew.n);
  for (double& value : result.values) value *= 2;
  add_scaled(identity(skew.count, skew.n), -1, result);
  return result;
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
