// Blocks of rotations in double: Cayley maps of skew matrices, and the terms that they become. Shared by the OFT and
// BOFT families; knows no file layout.
#pragma once

#include "adapt/families/parts.h"

namespace veneer::adapt {

struct Blocks {
  int64_t count = 0, n = 0;
  std::vector<double> values;  // [count, n, n]
  double* block(int64_t b) { return values.data() + b * n * n; }
  const double* block(int64_t b) const { return values.data() + b * n * n; }
};

// [..., n, n] as it is.
Blocks blocks_from(const Tensor& tensor);
// factor * (B - B^T) of every block.
Blocks skew_part(const Blocks& blocks, double factor);
// Strictly upper triangles, [count, n (n - 1) / 2] row by row, as skew matrices.
Blocks skew_from_triangles(const Tensor& triangles, int64_t n);

// Scales all blocks together so that their joint Frobenius norm is at most `limit`: the constraint of COFT.
void limit_norm(Blocks& skew, double limit);

// R = (I + Q) (I - Q)^-1, orthogonal for skew Q.
Blocks cayley(const Blocks& skew);
// I + 2 S + ... + 2 S^(terms - 2) + S^(terms - 1): the series by which PEFT stands in for the inverse. It is only
// nearly orthogonal, and adapters were trained with it as it is.
Blocks cayley_neumann(const Blocks& skew, int terms);

// I + strength * (R - I).
void interpolate(Blocks& rotations, double strength);

// The inverse order of multiplication: R^T for R.
Blocks transposed(const Blocks& rotations);

nn::Rotate rotate_term(const Blocks& rotations, nn::Side side, std::vector<int32_t> order = {});

}  // namespace veneer::adapt
