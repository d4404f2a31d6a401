// The part of a matrix that two narrow matrices hold best, by randomised subspace iteration (Halko, Martinsson, Tropp
// 2011, algorithms 4.4 and 5.1). Same matrix, same bits, on every processor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace veneer::codec {

struct LowRank {
  int64_t rank = 0;
  std::vector<float> up;    // [rows, rank], orthonormal columns
  std::vector<float> down;  // [rank, columns], by falling length of its rows
};

// The sum of the leading `rank` singular terms of `matrix` [rows, columns] as up x down. Where singular values beyond
// the rank are nearly as large as those within, it may hold a mixture of both, which is as good a fit. `rank` must be
// from 1 to the lesser of the sizes (checked). The values must be finite and below 10^5 or so: products of them are
// summed in float32.
LowRank low_rank(std::span<const float> matrix, int64_t rows, int64_t columns, int64_t rank);

}  // namespace veneer::codec
