// Sums of scaled rows, by vectors: what laying changes over decoded rows mostly does.
#pragma once

#include <cstdint>

namespace veneer::codec {

// y[i] += sum over j of factors[j] * rows[j * stride + i], for i below `count` and j below `terms`; in the type of y, j
// in order.
void add_scaled_rows(const float* rows, int64_t stride, const float* factors, int64_t terms, int64_t count, float* y);
void add_scaled_rows(const float* rows, int64_t stride, const double* factors, int64_t terms, int64_t count, double* y);

// Rows whose multiples are added to others.
struct SummedRows {
  const float* rows;  // [terms, count], `stride` apart
  int64_t stride;
  int64_t terms, count;
};
// squares[r] = sum over i of (base[r][i] + sum over j of factors[r][j] * rows[j][i])^2, in double; `base` is [rows,
// count] and `factors` [rows, terms], both dense.
void squares_of_sums(const SummedRows& summed, const float* base, const double* factors, int64_t rows, double* squares);

}  // namespace veneer::codec
