// What UNets take besides latent and text, against diffusers in float32 (tests/oracle/unet_inputs.py): the mask and the
// hidden picture of inpainting models, the picture of edit models with its guidance of three predictions, the guidance
// number of distilled ones. Tolerance: 2e-4 of the largest value for runs of 4 steps, as in unet_families_test.cpp, and
// 1e-5 for a single call and for what the autoencoder gives.
#include <cmath>

#include "core/format.h"
#include "device/devices.h"
#include "io/container.h"
#include "pipeline/guided_denoiser.h"
#include "pipeline/picture_input.h"
#include "tests/golden/pipeline/runs.h"
#include "tests/unit/io/test_files.h"

namespace veneer {
namespace {

constexpr double kRunTolerance = 2e-4, kTolerance = 1e-5;
constexpr int kSide = 32;
constexpr int64_t kLatent = 4;

// The weights of what is new, and pictures: the formulas of unet_inputs.py.
std::vector<float> extra(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(0.15 * std::sin(1.7 * static_cast<double>(i) + 0.4)));
  return values;
}

io::Image picture() {
  io::Image image = io::Image::blank(kSide, kSide, 3);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x)
      for (int c = 0; c < 3; ++c) image.row(y)[3 * x + c] = static_cast<uint8_t>((5 * x + 3 * y + 80 * c) % 256);
  return image;
}

io::Image mask() {
  io::Image image = io::Image::blank(kSide, kSide, 1);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) image.row(y)[x] = x / 2 * 2 + y / 2 * 2 >= 28 ? 255 : 0;
  return image;
}

void widen(io::NamedValues& conv, int64_t channels) {
  const int64_t out = conv.shape[0], old = kLatent * 9, added = (channels - kLatent) * 9;
  const std::vector<float> more = extra(out * added);
  std::vector<float> wider;
  for (int64_t row = 0; row < out; ++row) {
    wider.insert(wider.end(), conv.values.begin() + row * old, conv.values.begin() + (row + 1) * old);
    wider.insert(wider.end(), more.begin() + row * added, more.begin() + (row + 1) * added);
  }
  conv.values = std::move(wider);
  conv.shape[1] = channels;
}

class UnetInputGoldens : public testing::Test {
 protected:
  // tiny-sd1 with so many input channels, and with a guidance number of so many waves.
  std::filesystem::path model_with(int64_t channels, int64_t guidance_width = 0) {
    const std::filesystem::path unet = "unet/diffusion_pytorch_model.safetensors", from = test::data_path("tiny-sd1");
    const std::filesystem::path folder = scratch_ / "model";
    std::filesystem::copy(from, folder, std::filesystem::copy_options::recursive);
    const auto store = io::open_weights(from / unet);
    EXPECT_TRUE(store) << store.error().message;
    std::vector<io::NamedValues> tensors;
    for (const auto& [name, entry] : store->entries()) {
      tensors.push_back({name, entry.weight.decode_all(), entry.weight.shape});
      if (name == "conv_in.weight") widen(tensors.back(), channels);
    }
    constexpr int64_t kTime = 32;
    if (guidance_width > 0)
      tensors.push_back({"time_embedding.cond_proj.weight", extra(kTime * guidance_width), {kTime, guidance_width}});
    std::filesystem::remove(folder / unet);
    io::write_f32(folder / unet, tensors);
    return folder;
  }
  model::Condition condition(const char* name) const { return {golden_.tensor(name), {}, {}}; }

  io::ScratchFolder scratch_;
  test::Golden golden_{"tiny-sd1/inputs.safetensors"};
};

// This program protects what a mask leaves in every step as well, which diffusers does not; so what the network is
// given is compared, and then a run without that protection.
TEST_F(UnetInputGoldens, Inpainting) {
  io::ModelPaths paths;
  paths.model = model_with(9);
  const auto loaded = test::load_model(paths);
  ASSERT_TRUE(loaded);
  const auto device = *device::open_device("cpu", 2, true);
  nn::PanelCache panels(0);
  pipeline::Workplace vae_place(*device, panels), place(*device, panels);

  const std::optional<io::Image> given = picture(), repaint = mask();
  const pipeline::TilingOptions whole;
  const pipeline::PictureOrder order{
      given, repaint, pipeline::picture_input_of(*loaded->model.denoiser),           kSide,
      kSide, whole,   [](std::span<float> noise) {
        std::ranges::fill(noise, 0.0f); }};
  const auto prepared = pipeline::prepare_picture(order, {loaded->model.vae.get(), &vae_place},
                                                  loaded->model.family->latent, [](int, int) { return Status(); });
  ASSERT_TRUE(prepared) << prepared.error().message;
  const Tensor channels = nhwc_to_nchw(prepared->channels), hidden = golden_.tensor("inpaint/masked_latents"),
               cells = golden_.tensor("inpaint/mask");
  const int64_t pixels = cells.elements();
  EXPECT_TRUE(
      test::close_to(Tensor::from(channels.values().first(static_cast<size_t>(pixels)), cells.shape), cells, 0));
  EXPECT_TRUE(test::close_to(Tensor::from(channels.values().subspan(static_cast<size_t>(pixels)), hidden.shape), hidden,
                             kTolerance));

  const pipeline::Conditioning conditioning{condition("context"), condition("negative")};
  pipeline::Guidance guidance;
  guidance.scales = {5.0};
  const std::optional<pipeline::Protection> nothing;
  pipeline::GuidedDenoiser denoiser(*loaded->model.denoiser, place, loaded->settings,
                                    {conditioning, guidance, nothing, prepared->channels, {1, 16, 16, kLatent}});
  const Tensor sigmas = golden_.tensor("sigmas"), noise = golden_.map("noise");
  const std::vector<float> levels(sigmas.values().begin(), sigmas.values().end());
  std::vector<float> x;
  for (const float value : noise.values()) x.push_back(value * levels.front());
  sample::SamplerHooks hooks;
  hooks.denoise = [&](std::span<const float> state, double sigma) { return denoiser.denoise(state, sigma); };
  hooks.noise = [](std::span<float>) {};
  ASSERT_TRUE(
      sample::run_sampler(**sample::sampler_named("euler"), {levels, 0.0, loaded->settings.table, {}}, hooks, x));
  EXPECT_TRUE(
      test::close_to(nhwc_to_nchw(Tensor::from(x, noise.shape)), golden_.tensor("inpaint/latents"), kRunTolerance));
}

TEST_F(UnetInputGoldens, Editing) {
  io::ModelPaths paths;
  paths.model = model_with(8);
  const auto session = test::open_session(paths);
  ASSERT_TRUE(session);
  const Tensor sigmas = golden_.tensor("sigmas");
  pipeline::Request request;
  request.prompt = "a photo of a cat";
  request.negative_prompt = "blurry background";
  request.width = request.height = kSide;
  request.sampler = *sample::sampler_named("euler");
  request.sigmas = std::vector<double>(sigmas.values().begin(), sigmas.values().end());
  request.init_latents = golden_.tensor("noise");
  request.init_image = picture();
  request.cfg_scale = 6.0;
  request.image_cfg_scale = 1.5;
  const auto result = test::draw(*session, request);
  ASSERT_EQ(result.pictures.size(), 1u);
  EXPECT_TRUE(test::close_to(result.pictures[0].latents, golden_.tensor("edit/latents"), kRunTolerance));
}

TEST_F(UnetInputGoldens, GuidanceAsANumber) {
  io::ModelPaths paths;
  paths.model = model_with(kLatent, 16);
  const auto loaded = test::load_model(paths);
  ASSERT_TRUE(loaded);
  const auto device = *device::open_device("cpu", 2, true);
  device::Arena arena(size_t{64} << 20);
  nn::PanelCache panels(0);
  nn::Context context{*device, arena, panels};
  const Tensor predicted =
      loaded->model.denoiser->forward(context, {golden_.map("noise"), 499.0f, golden_.tensor("context"), {}, {}, 8.5f});
  EXPECT_TRUE(test::close_to(nhwc_to_nchw(predicted), golden_.tensor("distilled/prediction"), kTolerance));
}

}  // namespace
}  // namespace veneer
