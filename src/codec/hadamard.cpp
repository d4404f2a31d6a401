// Fast transforms: one step for each Kronecker factor, as in a fast Fourier transform.
#include "codec/hadamard.h"

#include <algorithm>
#include <bit>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/hadamard.cpp"
#include <hwy/foreach_target.h>

#include "codec/hadamard-inl.h"

#if HWY_ONCE
namespace veneer::codec {

HWY_EXPORT(RotateByFours);
HWY_EXPORT(RotateByTwos);

namespace {
constexpr int64_t kSmallestGroup = 4;
}

int64_t hadamard_group(int64_t channels, int64_t cap) {
  const auto wanted = static_cast<uint64_t>(std::max<int64_t>(std::min(channels, cap), 1));
  auto group = static_cast<int64_t>(std::bit_ceil(wanted));
  while (channels % group != 0) group /= 2;
  return group < kSmallestGroup ? 1 : group;
}

void hadamard_rotate(float* values, int64_t count, int64_t group) {
  if (group == 1) return;
  const auto size = static_cast<size_t>(count), run = static_cast<size_t>(group);
  const float norm = 1.0f / std::sqrt(static_cast<float>(group));
  const bool power_of_four = std::countr_zero(run) % 2 == 0;
  if (power_of_four) {
    HWY_DYNAMIC_DISPATCH(RotateByFours)(values, size, run, norm);
  } else {
    HWY_DYNAMIC_DISPATCH(RotateByTwos)(values, size, run, norm);
  }
}

}  // namespace veneer::codec
#endif  // HWY_ONCE
