// The operations of the processor device; operations.h says what each computes.
#pragma once

#include <string>

#include "device/device.h"

namespace veneer::device::cpu {

void pack_matmul(Device&, const PackMatmul& pack);
void matmul(Device&, const Matmul& product);
void pack_conv(Device&, const PackConv& pack);
void conv(Device&, const Conv& conv);
void attention(Device&, const Attention& attention);
void group_norm(Device&, const GroupNorm& norm);
void layer_norm(Device&, const LayerNorm& norm);
void activate(Device&, const Activate& activate);
void geglu(Device&, const Geglu& geglu);
void add_scaled(Device&, const AddScaled& add);
void add_vector(Device&, const AddVector& add);
void upsample(Device&, const Upsample& upsample);
void concat_channels(Device&, const Concat& concat);

// The instruction set that our own vector code uses here, as Highway names it.
std::string vector_target();

// y[r, :] = x[r, :], or += when accumulate, between rows of different strides.
void copy_rows(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float* y, int64_t y_stride,
               bool accumulate);

}  // namespace veneer::device::cpu
