// Convolutions of small images as one product: each output pixel's inputs are gathered into a row. With few pixels the
// weights are most of what is read, and a direct convolution, which works along the lines of an image, has too little
// to do with each.
#pragma once

#include "device/cpu/cpu_device.h"

namespace veneer::device::cpu {

// Of inputs of fewer pixels (batch * height * width) than this every convolution without groups is gathered.
constexpr int64_t kGatheredBelow = 256;

// By the shape alone. Measured on two cores with AVX-512, 1280 and 2560 channels on 8x8 pixels: 1.2 to 2.2 times as
// fast as direct.
bool is_best_gathered(const PackConv& pack);

void pack_gathered(CpuDevice& device, const PackConv& pack);
// The panel is one of pack_gathered's.
void conv_gathered(CpuDevice& device, const Conv& conv);

}  // namespace veneer::device::cpu
