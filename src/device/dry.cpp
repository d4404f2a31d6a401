// The device that computes nothing. A network runs on it with a measuring arena to find out what it will allocate, so
// no pointer that it is given may be followed, except a panel that is to be filled in.
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

class CountingDevice final : public DryDevice {
 public:
  CountingDevice() {
    fill(Operations{});
    operations_.add<PackMatmul>(pack_matmul);
    operations_.add<PackConv>(pack_conv);
    operations_.add<Matmul>(matmul);
    operations_.add<Conv>(conv);
    operations_.add<Attention>(attention);
  }
  std::string name() const override { return "dry"; }
  std::string description() const override { return "measures, computes nothing"; }
  bool host_visible() const override { return false; }
  double flops() const override { return flops_; }

 private:
  static void count(Device& device, std::initializer_list<int64_t> multiply_adds) {
    double flops = 2;
    for (const int64_t factor : multiply_adds) flops *= static_cast<double>(factor);
    static_cast<CountingDevice&>(device).flops_ += flops;
  }
  static void matmul(Device& device, const Matmul& product) {
    count(device, {product.rows, product.w->shape[0], product.w->shape[1]});
  }
  static void conv(Device& device, const Conv& conv) {
    const Shape& w = conv.w->shape;
    count(device, {conv.batch, conv.geometry.out_height(conv.height, w[2]), conv.geometry.out_width(conv.width, w[3]),
                   w.elements()});
  }
  static void attention(Device& device, const Attention& a) {
    count(device, {2, a.batch, a.heads, a.queries, a.keys, a.head_width});
  }

  template <typename... Operation>
  void fill(OperationList<Operation...>) {
    (operations_.add<Operation>(nothing<Operation>), ...);
  }

  double flops_ = 0;
};

}  // namespace

std::unique_ptr<DryDevice> make_dry_device() { return std::make_unique<CountingDevice>(); }

}  // namespace veneer::device
