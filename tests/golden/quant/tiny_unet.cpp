// One network call for each sample, on the processor.
#include "tiny_unet.h"

#include "device/devices.h"
#include "model/unet.h"
#include "pipeline/memory.h"

namespace veneer::test {
namespace {

// Sample `index` of a batch, [N, C, H, W] to [1, H, W, C]; other ranks keep their order.
Tensor sample_of(const Tensor& batch, int64_t index) {
  Shape shape = batch.shape;
  shape[0] = 1;
  const int64_t size = shape.elements();
  const Tensor one =
      Tensor::from(batch.values().subspan(static_cast<size_t>(index * size), static_cast<size_t>(size)), shape);
  return shape.rank() == 4 ? nchw_to_nhwc(one) : one;
}

}  // namespace

void expect_tiny_unet_gives(const io::ModelPart& part, const Golden& golden, const std::string& expected,
                            double tolerance) {
  auto unet = model::build_unet(part);
  ASSERT_TRUE(unet) << unet.error().message;
  auto device = device::open_device("cpu", 2, true);
  ASSERT_TRUE(device) << device.error().message;
  nn::PanelCache panels(size_t{1} << 28);
  pipeline::Workplace place(**device, panels);
  const std::vector<int32_t> timesteps = golden.ids("timestep");
  for (size_t i = 0; i < timesteps.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const model::Denoiser::Input input{sample_of(golden.tensor("sample"), index), static_cast<float>(timesteps[i]),
                                       sample_of(golden.tensor("encoder_hidden_states"), index)};
    Tensor out;
    place.run([&](nn::Context& context) {
      const Tensor made = (*unet)->forward(context, input);
      if (!context.measuring()) out = made.clone();
    });
    EXPECT_TRUE(close_to(out, sample_of(golden.tensor(expected), index), tolerance)) << "sample " << i;
  }
}

}  // namespace veneer::test
