// Rounds rows in parallel.
#include "device/cpu/bf16.h"

#include "device/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/bf16.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/bf16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

void RoundRow(const float* x, int64_t count, uint16_t* y) {
  for (int64_t i = 0; i < count; i += Lanes()) StoreFirst(LoadFirst(x + i, count - i), count - i, y + i);
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {

HWY_EXPORT(RoundRow);

void round_to_bf16(Rows<const float> x, int64_t rows, int64_t columns, uint16_t* y) {
  parallel_ranges(rows, rows_per_piece(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      HWY_DYNAMIC_DISPATCH(RoundRow)(x.data + row * x.stride, columns, y + row * columns);
  });
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
