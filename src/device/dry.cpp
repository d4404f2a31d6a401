// The device that does nothing. A network runs on it with a measuring arena to find out what it will allocate, so no
// pointer that it is given may be followed, except a panel that is to be filled in.
#include "device/devices.h"

namespace veneer::device {
namespace {

template <typename Operation>
void nothing(Device&, const Operation&) {}

// Vector units want whole blocks of outputs and of inputs; 16 of each is what the processor's layouts round up to.
constexpr int64_t kBlock = 16;
int64_t rounded(int64_t count) { return (count + kBlock - 1) / kBlock * kBlock; }

void pack_matmul(Device&, const PackMatmul& pack) {
  pack.panel->shape = {pack.out, pack.in};
  pack.panel->bytes = static_cast<size_t>(rounded(pack.out) * rounded(pack.in)) * sizeof(float);
}

void pack_conv(Device&, const PackConv& pack) {
  const Shape& shape = pack.shape;
  pack.panel->shape = shape;
  pack.panel->bytes = static_cast<size_t>(rounded(shape[0]) * rounded(shape[1]) * shape[2] * shape[3]) * sizeof(float);
}

class DryDevice final : public Device {
 public:
  DryDevice() {
    fill(Operations{});
    operations_.add<PackMatmul>(pack_matmul);
    operations_.add<PackConv>(pack_conv);
  }
  std::string name() const override { return "dry"; }
  std::string description() const override { return "measures, computes nothing"; }
  bool host_visible() const override { return false; }

 private:
  template <typename... Operation>
  void fill(OperationList<Operation...>) {
    (operations_.add<Operation>(nothing<Operation>), ...);
  }
};

}  // namespace

std::unique_ptr<Device> make_dry_device() { return std::make_unique<DryDevice>(); }

}  // namespace veneer::device
