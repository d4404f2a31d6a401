// Attention: packs keys and values of every head once, then takes blocks of queries through them in parallel.
#include "device/cpu/attention.h"

#include <numbers>

#include "device/cpu/cpu_device.h"
#include "device/cpu/kernels.h"
#include "device/cpu/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/attention.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/attention-inl.h"

#if HWY_ONCE
namespace veneer::device::cpu {
namespace {

HWY_EXPORT(PackHead);
HWY_EXPORT(Attend);

constexpr float kLog2E = std::numbers::log2e_v<float>;

// Memory for all packed heads of a call, one after the other, then the masks of all images.
struct PackedHeads {
  int64_t keys, width, heads;
  float* memory;
  float* masks;  // null without a mask

  static int64_t head_floats(const Attention& a) {
    return units_of(a.keys) * kUnit * a.head_width + a.keys * units_of(a.head_width) * kUnit;
  }
  static int64_t mask_floats(const Attention& a) { return units_of(a.keys) * kUnit; }

  PackedHeads(const Attention& a, Buffer& buffer) : keys(a.keys), width(a.head_width), heads(a.heads) {
    const int64_t packed = a.batch * a.heads * head_floats(a);
    memory = buffer.floats(packed + a.batch * mask_floats(a));
    masks = a.key_mask ? memory + packed : nullptr;
  }
  // Head `i` of all images.
  PackedHead head(int64_t i) const {
    const int64_t key_floats = units_of(keys) * kUnit * width, value_floats = keys * units_of(width) * kUnit;
    float* begin = memory + i * (key_floats + value_floats);
    return {keys, width, begin, begin + key_floats, masks ? masks + i / heads * units_of(keys) * kUnit : nullptr};
  }
};

void pack_masks(const Attention& a, float* masks) {
  const int64_t stride = units_of(a.keys) * kUnit;
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t i = 0; i < stride; ++i)
      masks[b * stride + i] = i < a.keys ? a.key_mask[b * a.keys + i] * kLog2E : 0.0f;
}

}  // namespace

void attention(Device& device, const Attention& a) {
  CpuDevice& cpu = CpuDevice::of(device);
  const PackedHeads packed(a, cpu.packed_keys);
  if (packed.masks) pack_masks(a, packed.masks);
  parallel_for(a.batch * a.heads, [&](int64_t i) {
    const int64_t first = i / a.heads * a.keys, column = i % a.heads * a.head_width;
    HWY_DYNAMIC_DISPATCH(PackHead)
    (a.k + first * a.k_stride + column, a.k_stride, a.v + first * a.v_stride + column, a.v_stride, packed.head(i));
  });

  const int64_t blocks = (a.queries + kQueryBlock - 1) / kQueryBlock;  // of one head
  const int64_t block_floats = BlockMemory::floats(a.head_width);
  float* memory = cpu.blocks.floats(pool_size() * block_floats);
  parallel_for(a.batch * a.heads * blocks, [&](int64_t i) {
    const int64_t head = i / blocks, query = i % blocks * kQueryBlock;
    const int64_t token = head / a.heads * a.queries + query, column = head % a.heads * a.head_width;
    const int64_t y_stride = a.heads * a.head_width;
    const QueryBlock block{packed.head(head),
                           a.q + token * a.q_stride + column,
                           a.q_stride,
                           std::min(kQueryBlock, a.queries - query),
                           a.scale * kLog2E,
                           a.causal,
                           query,
                           a.bias ? a.bias + (head % a.heads * a.queries + query) * a.keys : nullptr,
                           a.y + token * y_stride + column,
                           y_stride};
    HWY_DYNAMIC_DISPATCH(Attend)(block, BlockMemory(memory + thread_index() * block_floats, a.head_width));
  });
}

}  // namespace veneer::device::cpu
#endif  // HWY_ONCE
