// The reference device's table.
#include "device/ref/ref_device.h"

#include "device/ref/kernels.h"

namespace veneer::device::ref {
namespace {

class RefDevice final : public Device {
 public:
  RefDevice() {
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
  std::string name() const override { return "ref"; }
  std::string description() const override { return "reference, double precision, 1 thread"; }
};

}  // namespace

Result<std::unique_ptr<Device>> open(int, bool) { return std::unique_ptr<Device>(std::make_unique<RefDevice>()); }

}  // namespace veneer::device::ref
