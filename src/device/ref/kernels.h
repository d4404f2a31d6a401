// The operations of the reference device; operations.h says what each computes.
#pragma once

#include "device/device.h"

namespace veneer::device::ref {

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
void scale_columns(Device&, const ScaleColumns& scale);
void rotate_columns(Device&, const RotateColumns& rotate);
void mix_groups(Device&, const MixGroups& mix);
void add_difference(Device&, const AddDifference& add);
void rms_norm(Device&, const RmsNorm& norm);
void modulate(Device&, const Modulate& op);
void add_gated(Device&, const AddGated& op);
void multiply(Device&, const Multiply& op);
void rotate_pairs(Device&, const RotatePairs& op);

}  // namespace veneer::device::ref
