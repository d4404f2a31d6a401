// A random sketch of the matrix's range, sharpened by multiplying with the matrix and its transpose in turn, then a
// small dense problem inside the sketch. The large products run by add_product, in float32; sums that decide about
// directions are in double.
#include "codec/low_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "codec/products.h"
#include "core/result.h"

namespace veneer::codec {
namespace {

constexpr int64_t kExtra = 16;      // directions beyond the rank, at least
constexpr int64_t kLines = 64;      // sketches are a multiple as wide: whole vectors; and rows taken at once
constexpr int kSharpenings = 2;     // each squares the ratio of wanted to unwanted singular values
constexpr double kVanished = 1e-6;  // of a vector's length: what is left of one is rounding

struct Matrix {
  Matrix(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), values(static_cast<size_t>(rows * columns)) {}
  float* row(int64_t i) { return values.data() + i * columns; }
  const float* row(int64_t i) const { return values.data() + i * columns; }
  int64_t rows, columns;
  std::vector<float> values;
};

struct View {
  const float* values;
  int64_t rows, columns;
  const float* row(int64_t i) const { return values + i * columns; }
};

Matrix transposed(const Matrix& matrix) {
  Matrix out(matrix.columns, matrix.rows);
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j) out.row(j)[i] = matrix.row(i)[j];
  return out;
}

// left x right.
Matrix product(const View& left, const Matrix& right) {
  Matrix out(left.rows, right.columns);
  add_product(Product<float>{left.values, left.columns, right.values.data(), right.columns, left.columns, right.columns,
                             right.columns},
              left.rows, out.values.data());
  return out;
}

// left x right for a tall `right`, some of whose rows at a time stay in the cache.
Matrix product(const Matrix& left, const View& right) {
  Matrix out(left.rows, right.columns);
  for (int64_t begin = 0; begin < right.rows; begin += kLines) {
    const int64_t count = std::min(kLines, right.rows - begin);
    add_product(Product<float>{left.row(0) + begin, left.columns, right.row(begin), right.columns, count, right.columns,
                               right.columns},
                left.rows, out.values.data());
  }
  return out;
}

double dot(const float* a, const float* b, int64_t count) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(a[i + k]) * static_cast<double>(b[i + k]);
  for (; i < count; ++i) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

void add_scaled(double factor, const float* from, int64_t count, float* to) {
  const auto narrow = static_cast<float>(factor);
  for (int64_t i = 0; i < count; ++i) to[i] += narrow * from[i];
}

// Makes the rows orthonormal, Gram and Schmidt's way, twice over since once leaves rounding of the first step. A row
// that lies in the span of those before it becomes zero.
void orthonormalise_rows(Matrix& matrix) {
  const int64_t n = matrix.columns;
  for (int64_t i = 0; i < matrix.rows; ++i) {
    float* row = matrix.row(i);
    const double before = std::sqrt(dot(row, row, n));
    for (int round = 0; round < 2; ++round)
      for (int64_t j = 0; j < i; ++j) add_scaled(-dot(matrix.row(j), row, n), matrix.row(j), n, row);
    const double length = std::sqrt(dot(row, row, n));
    const double factor = length > kVanished * before ? 1 / length : 0;
    for (int64_t k = 0; k < n; ++k) row[k] = static_cast<float>(row[k] * factor);
  }
}

// Orthonormal rows that span nearly all of what the columns of `matrix` span best, [width, rows].
Matrix sketch(const View& matrix, int64_t width) {
  std::mt19937 random(1);
  Matrix start(matrix.columns, width);
  for (float& value : start.values) value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
  Matrix range = transposed(product(matrix, start));
  for (int step = 0; step < kSharpenings; ++step) {
    orthonormalise_rows(range);
    Matrix domain = product(range, matrix);
    orthonormalise_rows(domain);
    range = transposed(product(matrix, transposed(domain)));
  }
  orthonormalise_rows(range);
  return range;
}

// A symmetric matrix of doubles, [size, size].
struct Symmetric {
  explicit Symmetric(int64_t n) : size(n), values(static_cast<size_t>(n * n)) {}
  double& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * size + j)]; }
  int64_t size;
  std::vector<double> values;
};

// Jacobi's rotation of rows and columns p and q that makes element (p, q) zero; `vectors` follows with its rows.
void rotate(Symmetric& matrix, Symmetric& vectors, int64_t p, int64_t q) {
  const double off = matrix.at(p, q);
  const double half = (matrix.at(q, q) - matrix.at(p, p)) / (2 * off);
  const double tangent = std::copysign(1 / (std::abs(half) + std::sqrt(half * half + 1)), half);
  const double cosine = 1 / std::sqrt(tangent * tangent + 1), sine = tangent * cosine;
  const auto turn = [&](double& a, double& b) {
    const double old = a;
    a = cosine * old - sine * b;
    b = sine * old + cosine * b;
  };
  for (int64_t k = 0; k < matrix.size; ++k) turn(matrix.at(k, p), matrix.at(k, q));
  for (int64_t k = 0; k < matrix.size; ++k) turn(matrix.at(p, k), matrix.at(q, k));
  for (int64_t k = 0; k < matrix.size; ++k) turn(vectors.at(p, k), vectors.at(q, k));
}

// The eigenvectors of `matrix` as rows, by falling eigenvalue.
Symmetric eigenvectors(Symmetric matrix) {
  constexpr int kSweeps = 30;  // it takes six to ten
  const int64_t n = matrix.size;
  Symmetric vectors(n);
  for (int64_t i = 0; i < n; ++i) vectors.at(i, i) = 1;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        if (std::abs(matrix.at(p, q)) <= 1e-14 * std::sqrt(std::abs(matrix.at(p, p) * matrix.at(q, q)))) continue;
        rotate(matrix, vectors, p, q);
        rotated = true;
      }
    if (!rotated) break;
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return matrix.at(a, a) > matrix.at(b, b); });
  Symmetric sorted(n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k) sorted.at(i, k) = vectors.at(order[static_cast<size_t>(i)], k);
  return sorted;
}

}  // namespace

LowRank low_rank(std::span<const float> matrix, int64_t rows, int64_t columns, int64_t rank) {
  VENEER_CHECK(rank >= 1 && rank <= std::min(rows, columns) && static_cast<int64_t>(matrix.size()) == rows * columns);
  const View view{matrix.data(), rows, columns};
  const int64_t width = std::min({(rank + kExtra + kLines - 1) / kLines * kLines, rows, columns});
  const Matrix range = sketch(view, width);
  const Matrix inside = product(range, view);
  Symmetric gram(width);
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = 0; j <= i; ++j) gram.at(i, j) = gram.at(j, i) = dot(inside.row(i), inside.row(j), columns);
  Symmetric vectors = eigenvectors(std::move(gram));
  Matrix leading(rank, width);
  for (int64_t i = 0; i < rank; ++i)
    for (int64_t k = 0; k < width; ++k) leading.row(i)[k] = static_cast<float>(vectors.at(i, k));
  const auto as_view = [](const Matrix& m) { return View{m.values.data(), m.rows, m.columns}; };
  return {rank, transposed(product(as_view(leading), range)).values, product(as_view(leading), inside).values};
}

}  // namespace veneer::codec
