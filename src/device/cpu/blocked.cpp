// Turning rows of weights into blocks of columns.
#include "device/cpu/blocked.h"

#include <algorithm>

#include "device/cpu/panel.h"
#include "device/cpu/row_blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/blocked.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four numbers of four rows, `stride` apart, become four columns, `step` apart.
HWY_INLINE void TurnSquare(const float* rows, int64_t stride, float* columns, int64_t step) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t k = 0; k < 4; ++k)
    for (int64_t n = 0; n < 4; ++n) columns[k * step + n] = rows[n * stride + k];
#else
  const hn::FixedTag<float, 4> d;
  const auto r0 = hn::LoadU(d, rows), r1 = hn::LoadU(d, rows + stride), r2 = hn::LoadU(d, rows + 2 * stride),
             r3 = hn::LoadU(d, rows + 3 * stride);
  const auto low01 = hn::InterleaveLower(d, r0, r1), high01 = hn::InterleaveUpper(d, r0, r1);
  const auto low23 = hn::InterleaveLower(d, r2, r3), high23 = hn::InterleaveUpper(d, r2, r3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, columns);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, columns + step);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, columns + 2 * step);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, columns + 3 * step);
#endif
}

// Rows [first, first + count), all of one block of outputs. A line of the cache of each of four rows at a time, so that
// it does not matter how far rows lie apart.
void PlaceRows(const BlockedLayout& layout, const float* rows, int64_t first, int64_t count, int64_t in, float* panel) {
  const int64_t step = layout.block_out;
  float* const block = panel + first / step * layout.out_stride + first % step;
  for (int64_t begin = 0; begin < in; begin += layout.block_in) {
    float* const to = block + begin / layout.block_in * layout.in_stride;
    const int64_t depth = std::min(layout.block_in, in - begin);
    const float* const from = rows + begin;
    int64_t n = 0;
    for (; n + 4 <= count; n += 4) {
      int64_t k = 0;
      for (; k + 4 <= depth; k += 4) TurnSquare(from + n * in + k, in, to + k * step + n, step);
      for (; k < depth; ++k)
        for (int64_t i = n; i < n + 4; ++i) to[k * step + i] = from[i * in + k];
    }
    for (; n < count; ++n)
      for (int64_t k = 0; k < depth; ++k) to[k * step + n] = from[n * in + k];
  }
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {

HWY_EXPORT(PlaceRows);

void pack_blocked(CpuDevice& device, const PackMatmul& pack, const BlockedLayout& layout) {
  constexpr int64_t kFewBlocks = 8;  // with fewer a block is cut, so that all threads have something to do
  PackedWeight& weight = packed(pack.panel);
  auto* panel = reinterpret_cast<float*>(weight.bytes.get());
  // What lies beyond the sizes of the weight takes part in products.
  if (pack.in % layout.block_in != 0 || pack.out % layout.block_out != 0)
    std::fill_n(panel, pack.panel->bytes / sizeof(float), 0.0f);
  const bool whole = pack.out >= kFewBlocks * layout.block_out;
  for_row_blocks(device, pack.rows, pack.out, pack.in, whole ? layout.block_out : BlockedLayout::kLeastOut,
                 [&](int64_t begin, int64_t end, const float* rows) {
                   HWY_DYNAMIC_DISPATCH(PlaceRows)(layout, rows, begin, end - begin, pack.in, panel);
                 });
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
