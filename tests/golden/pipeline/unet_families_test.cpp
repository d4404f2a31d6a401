// Whole runs of the tiny Stable Diffusion 2, XL and refiner models against diffusers in float32, XL also under
// adapters of kohya's trainer and LyCORIS, which name its two text encoders lora_te1_ and lora_te2_. Tolerance: 2e-4 of
// the largest value for 4 steps; one network call agrees to 2e-6 (golden/model), and guidance multiplies that by about
// its scale in every step.
#include <cmath>

#include "core/files.h"
#include "core/json.h"
#include "device/devices.h"
#include "pipeline/guided_denoiser.h"
#include "tests/golden/pipeline/runs.h"

namespace veneer {
namespace {

constexpr double kTolerance = 2e-4;

// The levels of these whole timesteps, and 0.
std::vector<double> sigmas_at(std::span<const float> timesteps) {
  const auto table = sample::NoiseTable::from_alphas_cumprod(
      sample::cumulative_alphas(*sample::betas_named("scaled_linear", 0.00085, 0.012)));
  std::vector<double> sigmas;
  for (const float timestep : timesteps) sigmas.push_back(table->sigma(timestep));
  sigmas.push_back(0);
  return sigmas;
}

pipeline::Request request_for(const Tensor& states, const std::vector<double>& sigmas) {
  pipeline::Request request;
  request.width = request.height = 32;
  request.sampler = *sample::sampler_named("euler");
  request.sigmas = sigmas;
  request.init_latents = test::scaled(test::state_of(states, 0), 1.0 / sigmas.front());
  return request;
}

TEST(UnetFamilies, Sd2PredictsVelocities) {
  io::ModelPaths paths;
  paths.model = test::data_path("tiny-sd2");  // of the UNet only its configuration
  paths.denoiser = test::data_path("tiny-sd2/tiny-sd2-ldm.safetensors");
  paths.vae = test::data_path("tiny-sd1/vae");
  const auto session = test::open_session(paths);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->describe()["prediction"], "v");
  const test::Golden golden("tiny-sd2/golden.safetensors");
  const Tensor states = golden.tensor("euler/latents"), sigmas = golden.tensor("euler/sigmas");
  pipeline::Request request = request_for(states, {sigmas.values().begin(), sigmas.values().end()});
  request.prompt = "a blue dog in the snow , best quality";
  request.negative_prompt = "blurry background";
  request.cfg_scale = 7.5;
  const auto result = test::draw(*session, request);
  ASSERT_EQ(result.pictures.size(), 1u);
  EXPECT_TRUE(test::close_to(result.pictures[0].latents, test::state_of(states, -1), kTolerance));
}

class SdxlRuns : public testing::Test {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sdxl");
    session_ = test::open_session(paths);
    ASSERT_TRUE(session_);
  }
  pipeline::Request request() const {
    pipeline::Request request =
        request_for(golden_.tensor("base/euler/latents"), sigmas_at(golden_.tensor("base/euler/timesteps").values()));
    request.prompt = "a painting of a red house by the sea";
    request.cfg_scale = 5;
    return request;
  }
  void expect_result(const pipeline::Request& request, const std::string& name) {
    const auto result = test::draw(*session_, request);
    ASSERT_EQ(result.pictures.size(), 1u);
    EXPECT_TRUE(test::close_to(result.pictures[0].latents, test::state_of(golden_.tensor(name), -1), kTolerance));
    if (!result.report.stack) return;
    for (const adapt::AdapterAccount& account : result.report.stack->receipt.adapters)
      EXPECT_EQ(account.keys.applied, account.keys.total) << adapt::count_line(account);
  }

  test::Golden golden_{"tiny-sdxl/golden.safetensors"};
  std::unique_ptr<pipeline::Session> session_;
};

// The reference has zeros for states and pooled vector of the empty negative prompt.
TEST_F(SdxlRuns, WithoutAdapters) { expect_result(request(), "base/euler/latents"); }

TEST_F(SdxlRuns, UnderAdapters) {
  const auto index = parse_json(*read_text_file(test::data_path("tiny-sdxl/golden.index.json"), 1 << 24), "index");
  ASSERT_TRUE(index);
  int runs = 0;
  for (const auto& [name, run] : (*index)["runs"].items()) {
    SCOPED_TRACE(name);
    pipeline::Request adapted = request();
    for (const Json& one : run["adapters"]) {
      const std::string file = (*index)["adapters"][one[0].get<std::string>()]["file"];
      text::AdapterRequest& adapter = adapted.adapters.adapters.emplace_back();
      adapter.name = test::data_path("tiny-sdxl/" + file).string();
      adapter.denoiser_scale = one[1];
      adapter.text_encoder_scale = one[2];
    }
    expect_result(adapted, name + "/euler/latents");
    ++runs;
  }
  EXPECT_EQ(runs, 5);
}

// The reference enters at step 12 of 16 with the latents of a base model, and crops; so the conditions are given.
TEST(UnetFamilies, TheRefinerEndsARun) {
  io::ModelPaths paths;
  paths.model = test::data_path("tiny-sdxl-refiner");
  paths.denoiser = test::data_path("tiny-sdxl-refiner/tiny-sdxl-refiner-original.safetensors");
  paths.vae = test::data_path("tiny-sdxl/vae");
  const auto loaded = test::load_model(paths);
  ASSERT_TRUE(loaded);

  const test::Golden golden("tiny-sdxl-refiner/golden.safetensors");
  const auto condition = [&](const std::string& text, const std::string& numbers) {
    const Tensor pooled = golden.tensor(text + "/pooled"), ids = golden.tensor(numbers);
    const std::vector<double> values(ids.values().begin(), ids.values().end());
    const Tensor places = model::sinusoids(values, 8);
    Tensor vector = Tensor::zeros({1, pooled.elements() + places.elements()});
    std::copy_n(pooled.f32(), pooled.elements(), vector.f32());
    std::copy_n(places.f32(), places.elements(), vector.f32() + pooled.elements());
    return model::Condition{golden.tensor(text + "/context"), {}, vector};
  };
  const pipeline::Conditioning conditioning{condition("te", "add_time_ids"),
                                            condition("te_negative", "add_time_ids_negative")};
  pipeline::Guidance guidance;
  guidance.scales = {5.0};
  const std::optional<pipeline::Protection> nothing;
  const Tensor no_picture, states = golden.tensor("euler/latents"), sigmas = golden.tensor("euler/sigmas");
  const auto device = *device::open_device("cpu", 2, true);
  nn::PanelCache panels(size_t{1} << 30);
  pipeline::Workplace place(*device, panels);
  pipeline::GuidedDenoiser denoiser(*loaded->model.denoiser, place, loaded->settings,
                                    {conditioning, guidance, nothing, no_picture, {1, 16, 16, 4}});
  const Tensor start = nchw_to_nhwc(test::state_of(states, 0));
  std::vector<float> x(start.values().begin(), start.values().end());
  sample::SamplerHooks hooks;
  hooks.denoise = [&](std::span<const float> state, double sigma) { return denoiser.denoise(state, sigma); };
  hooks.noise = [](std::span<float>) {};
  const std::vector<float> levels(sigmas.values().begin(), sigmas.values().end());
  ASSERT_TRUE(
      sample::run_sampler(**sample::sampler_named("euler"), {levels, 0.0, loaded->settings.table, {}}, hooks, x));
  const Tensor end = nhwc_to_nchw(Tensor::from(x, {1, 16, 16, 4}));
  EXPECT_TRUE(test::close_to(end, test::state_of(states, -1), kTolerance));
}

}  // namespace
}  // namespace veneer
