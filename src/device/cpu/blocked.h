// Weights in blocks, the layout in which oneDNN multiplies them fastest. Rows go straight to their places as soon as
// they are decoded, while they are in the cache.
#pragma once

#include "device/cpu/cpu_device.h"

namespace veneer::device::cpu {

// Fills the panel, for which oneDNN has reserved the memory (OneDnn::reserve_blocked).
void pack_blocked(CpuDevice& device, const PackMatmul& pack, const BlockedLayout& layout);

}  // namespace veneer::device::cpu
