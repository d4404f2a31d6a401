// The processor's table.
#include "device/cpu/cpu_device.h"

#include "device/cpu/kernels.h"
#include "device/cpu/targets.h"

namespace veneer::device::cpu {

CpuDevice::CpuDevice(int threads, bool strict) : threads_(threads), strict_(strict) {
  operations_.add<PackMatmul>(pack_matmul);
  operations_.add<Matmul>(matmul);
  operations_.add<PackConv>(pack_conv);
  operations_.add<Conv>(conv);
  operations_.add<Attention>(attention);
  operations_.add<GroupNorm>(group_norm);
  operations_.add<LayerNorm>(layer_norm);
  operations_.add<Activate>(activate);
  operations_.add<Geglu>(geglu);
  operations_.add<AddScaled>(add_scaled);
  operations_.add<AddVector>(add_vector);
  operations_.add<Upsample>(upsample);
  operations_.add<Concat>(concat_channels);
  operations_.add<ScaleColumns>(scale_columns);
  operations_.add<RotateColumns>(rotate_columns);
  operations_.add<MixGroups>(mix_groups);
  operations_.add<AddDifference>(add_difference);
  operations_.add<RmsNorm>(rms_norm);
  operations_.add<Modulate>(modulate);
  operations_.add<AddGated>(add_gated);
  operations_.add<Multiply>(multiply);
  operations_.add<RotatePairs>(rotate_pairs);
}

std::string CpuDevice::description() const {
  return concat("products by oneDNN (", onednn.instruction_set(), "), other kernels by Highway (", vector_target(),
                "), ", threads_, threads_ == 1 ? " thread" : " threads");
}

Result<std::unique_ptr<Device>> open(int threads, bool strict) {
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(threads, strict));
}

}  // namespace veneer::device::cpu
