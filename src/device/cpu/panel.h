// What a Panel of this device points at: packed weights, and how they are packed.
#pragma once

#include <limits>
#include <utility>

#include "device/cpu/buffer.h"
#include "device/operations.h"

namespace veneer::device::cpu {

struct PackedWeight {
  AlignedBytes bytes;
  size_t capacity = 0;
  Compute compute = Compute::kF32;
  size_t layout = 0;          // of oneDNN's products: which of its layouts
  int64_t winograd_tile = 0;  // of Winograd's: outputs along a side of a tile; else 0
  bool gathered = false;      // a convolution's, packed as a product of gathered inputs
};

inline PackedWeight& packed(const Panel* panel) { return *static_cast<PackedWeight*>(panel->memory.get()); }

// Memory for a panel's weights with undefined content, that which it has where nobody else holds it and it is large
// enough. Throws std::bad_alloc.
inline PackedWeight& reserve(Panel* panel, size_t bytes, Compute compute) {
  auto weight = std::static_pointer_cast<PackedWeight>(std::exchange(panel->memory, nullptr));
  if (!weight || weight.use_count() > 1 || weight->capacity < bytes) {
    weight = std::make_shared<PackedWeight>();
    weight->bytes = allocate_aligned(bytes);
    weight->capacity = bytes;
  }
  weight->compute = compute;
  weight->layout = 0;
  weight->winograd_tile = 0;
  weight->gathered = false;
  panel->bytes = bytes;
  panel->fewest_pixels = 0;
  panel->most_pixels = std::numeric_limits<int64_t>::max();
  panel->memory = weight;
  return *weight;
}

}  // namespace veneer::device::cpu
