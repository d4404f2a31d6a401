// Fast transforms: one pass over a run for each Kronecker factor, as in a fast Fourier transform.
#include "codec/hadamard.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace veneer::codec {
namespace {

constexpr int64_t kSmallestGroup = 4;

// The factor [[1, 1], [1, -1]] over the digit of weight `stride`.
void pass_of_two(float* run, int64_t group, int64_t stride) {
  for (int64_t block = 0; block < group; block += 2 * stride)
    for (int64_t i = block; i < block + stride; ++i) {
      const float a = run[i], b = run[i + stride];
      run[i] = a + b;
      run[i + stride] = a - b;
    }
}

// The factor [[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]].
void pass_of_four(float* run, int64_t group, int64_t stride) {
  for (int64_t block = 0; block < group; block += 4 * stride)
    for (int64_t i = block; i < block + stride; ++i) {
      const float a = run[i], b = run[i + stride], c = run[i + 2 * stride], d = run[i + 3 * stride];
      const float sum = a + b, difference = a - b, other_sum = c + d, other_difference = c - d;
      run[i] = sum + other_difference;
      run[i + stride] = sum - other_difference;
      run[i + 2 * stride] = other_sum + difference;
      run[i + 3 * stride] = other_sum - difference;
    }
}

}  // namespace

int64_t hadamard_group(int64_t channels, int64_t cap) {
  const auto wanted = static_cast<uint64_t>(std::max<int64_t>(std::min(channels, cap), 1));
  auto group = static_cast<int64_t>(std::bit_ceil(wanted));
  while (channels % group != 0) group /= 2;
  return group < kSmallestGroup ? 1 : group;
}

void hadamard_rotate(float* values, int64_t count, int64_t group) {
  const bool power_of_four = std::countr_zero(static_cast<uint64_t>(group)) % 2 == 0;
  const float norm = 1.0f / std::sqrt(static_cast<float>(group));
  for (float* run = values; run < values + count; run += group) {
    if (power_of_four) {
      for (int64_t stride = 1; stride < group; stride *= 4) pass_of_four(run, group, stride);
    } else {
      for (int64_t stride = 1; stride < group; stride *= 2) pass_of_two(run, group, stride);
    }
    for (int64_t i = 0; i < group; ++i) run[i] *= norm;
  }
}

}  // namespace veneer::codec
