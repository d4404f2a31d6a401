// Some rows of a stored weight as a weight of their own: how a matrix that a file holds fused (query, key and value in
// one) becomes several layers without a copy and without encoding anything again.
#pragma once

#include "codec/weight.h"

namespace veneer::codec {

// Rows (first + i) mod whole.rows() of `whole`, for i from 0 to count - 1; so rows_of(w, n / 2, n) is w with its halves
// swapped. 0 <= first < whole.rows() and 0 <= count <= whole.rows() (checked). Shares the bytes and keeps the name,
// which is the stored tensor's. Where the rows lie in a run of whole blocks and need no side parts the result is of the
// same codec; elsewhere it is of a codec that decodes out of the whole one, and whose bytes are none. What is open
// about the whole one's shape stays open: the number of its rows must then be right already. It need not have passed
// its check: that of the view judges it.
Weight rows_of(const Weight& whole, int64_t first, int64_t count);

// The weight that a view decodes out of, in the shape that follows from the view's; `weight` itself when it is no view,
// or one that has the codec of the whole.
Weight whole_of(const Weight& weight);

// The row of `whole` that comes first in a view of it.
int64_t first_row_of(const Weight& view, const Weight& whole);

}  // namespace veneer::codec
