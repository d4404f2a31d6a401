// Convolutions with 3x3 kernels and stride 1 in fewer multiplications: F(2x2, 3x3) and F(4x4, 3x3) of Lavin and Gray
// 2015, "Fast Algorithms for Convolutional Neural Networks". The input is cut into overlapping squares, which a linear
// transform turns into one product of matrices for each of its 16 or 36 components; another transform turns the results
// into tiles of outputs. It takes 2.25 or 4 times fewer multiplications than the definition, and 1.8 or 4 times the
// memory for the weights.
#pragma once

#include "device/cpu/cpu_device.h"

namespace veneer::device::cpu {

// Inputs of so many pixels (batch * height * width) are best cut into tiles of this side, in outputs; 0: not at all.
// Smaller ones are gathered (gathered.h).
struct WinogradRange {
  int64_t tile, fewest_pixels, most_pixels;
};

// By the shape alone. Measured on two cores with AVX-512 against direct convolution, 320 to 1280 channels: tiles of 4
// are 2.5 to 3 times as fast from 64 tiles on. With fewer, reading the weights is what takes time, and tiles of 2 have
// 16 numbers for each kernel in the place of 36: 1.5 to 2 times as fast, down to 64 of them. Below 32 channels the
// transforms take what the products save.
// Tiles of 4 are never rounded to bfloat16: they would lose two of its digits.
WinogradRange winograd_range(const PackConv& pack);

void pack_winograd(CpuDevice& device, const PackConv& pack, int64_t tile);
// The panel is one of pack_winograd's.
void conv_winograd(CpuDevice& device, const Conv& conv);

// What the driver and the vector code share. A square of inputs has side `tile + 2`, and as many components as values.
constexpr int64_t kKernel = 3;
constexpr int64_t kMostComponents = 36;

// One square of inputs, [pixel][channels]; pixels outside the image point at zeros.
struct InputSquare {
  const float* pixels[kMostComponents];
  int64_t channels;
  Compute compute;
  void* components;  // [component][channels] of that type, `plane` values apart
  int64_t plane;
};

// One tile of outputs; pixels outside the image are null.
struct OutputTile {
  const float* components;
  int64_t plane;
  float* pixels[16];
  int64_t channels;
  bool accumulate;
};

// The kernels of one output, [channels][3][3].
struct FilterRow {
  const float* weights;
  int64_t channels;
  Compute compute;
  void* components;  // as for the inputs
  int64_t plane;
};

}  // namespace veneer::device::cpu
