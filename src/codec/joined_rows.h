// Weights one below the other as one weight, without copying: what a file that keeps one matrix for several layers
// speaks of. Only decoded; it has no bytes of its own.
#pragma once

#include "codec/weight.h"

namespace veneer::codec {

// [sum of the rows, ...]. The pieces have equal row shapes and each passed its codec's check; parts of weights are made
// by rows_of (row_view.h).
Weight joined_rows(std::span<const Weight> pieces);

}  // namespace veneer::codec
