// Rows of several weights one below the other as one weight, without copying: what a file that keeps one matrix for
// several layers speaks of. Only decoded; it has no bytes of its own.
#pragma once

#include "codec/weight.h"

namespace veneer::codec {

// Rows [first, first + count) of a weight.
struct RowPiece {
  Weight weight;
  int64_t first = 0, count = 0;
};

// [sum of the counts, ...]. The pieces have equal row shapes and each passed its codec's check.
Weight joined_rows(std::span<const RowPiece> pieces);

}  // namespace veneer::codec
