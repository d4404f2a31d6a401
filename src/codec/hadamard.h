// Rotation of rows by a normalised Hadamard matrix, in groups along the inputs. The matrix is symmetric and its own
// inverse, so the same call rotates and un-rotates.
#pragma once

#include <cstdint>

namespace veneer::codec {

// The group size for `channels` inputs: the next power of two from min(channels, cap) on, halved until it divides the
// channels; 1 (no rotation) when that is below 4.
int64_t hadamard_group(int64_t channels, int64_t cap);

// Multiplies every run of `group` values by H: a Kronecker power over sqrt(group), of the symmetric 4x4 matrix with one
// -1 in a row when `group` is a power of four, else of [[1, 1], [1, -1]]. `group` is a power of two and divides
// `count`.
void hadamard_rotate(float* values, int64_t count, int64_t group);

}  // namespace veneer::codec
