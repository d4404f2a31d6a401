// Whole runs against diffusers: latents step by step are in its float32, so what differs is the order of sums. One
// network call agrees to 2e-6 of the largest value (golden/model); guidance multiplies that by about its scale in every
// step, and the runs of a trained model pull towards the picture again. Stated: 2e-4 of the largest value for 4 steps,
// 5e-4 for 20.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/golden/pipeline/runs.h"

namespace veneer {
namespace {

using pipeline::Request;
using pipeline::Session;

using test::draw;
using test::scaled;

std::unique_ptr<Session> open(const std::filesystem::path& model, const std::filesystem::path& tiny_vae = {}) {
  io::ModelPaths paths;
  paths.model = model;
  paths.tiny_vae = tiny_vae;
  return test::open_session(paths);
}

TEST(Trajectory, TinySd1EulerWithGuidance) {
  const auto session = open(test::data_path("tiny-sd1"));
  ASSERT_TRUE(session);
  const test::Golden golden("tiny-sd1/golden.safetensors");
  const Tensor sigmas = golden.tensor("base/euler/sigmas"), states = golden.tensor("base/euler/latents");
  Request request;
  request.prompt = "a photo of a cat on the grass";
  request.negative_prompt = "blurry background";
  request.width = request.height = 32;
  request.cfg_scale = 7.5;
  request.sampler = *sample::sampler_named("euler");
  request.sigmas.assign(sigmas.values().begin(), sigmas.values().end());
  request.init_latents = scaled(test::state_of(states, 0), 1.0 / sigmas.f32()[0]);
  const auto result = draw(*session, request);
  ASSERT_EQ(result.pictures.size(), 1u);
  EXPECT_TRUE(test::close_to(result.pictures[0].latents, test::state_of(states, -1), 2e-4));
}

struct Run {
  const char* key;  // in reference.safetensors
  const char* prompt;
  int number;
};

constexpr Run kRuns[] = {{"base.euler.0", "red apple", 0}, {"base.euler.1", "cat face", 1},
                         {"base.euler.2", "rocket", 2},    {"base.ddim.0", "red apple", 0},
                         {"base.ddim.1", "cat face", 1},   {"base.ddim.2", "rocket", 2}};

// With the adapters that come with the model: LoRA, DoRA, LoCon with text encoder, LoKr, LoHa.
constexpr Run kAdapterRuns[] = {{"lineart-lora.euler.0", "red apple", 0}, {"lineart-lora.ddim.1", "cat face", 1},
                                {"mosaic-dora.euler.0", "red apple", 0},  {"mosaic-dora.ddim.1", "cat face", 1},
                                {"night-locon.euler.0", "red apple", 0},  {"night-locon.ddim.1", "cat face", 1},
                                {"pastel-lokr.euler.0", "red apple", 0},  {"pastel-lokr.ddim.1", "cat face", 1},
                                {"sepia-loha.euler.0", "red apple", 0},   {"sepia-loha.ddim.1", "cat face", 1}};

class Demo : public testing::TestWithParam<Run> {};
class DemoTiny : public Demo {};

std::filesystem::path demo_model() { return std::filesystem::path(VENEER_SOURCE_DIR) / "models/emoji-v1"; }

Request demo_request(const Run& run) {
  Request request;
  request.prompt = run.prompt;
  request.cfg_scale = 5;
  request.sampler = *sample::sampler_named("euler");
  request.schedule = *sample::schedule_named("simple");
  const std::string key = run.key, adapter = key.substr(0, key.find('.'));
  if (adapter != "base")
    request.adapters.adapters.emplace_back().name =
        concat(VENEER_SOURCE_DIR, "/models/adapters/", adapter, ".safetensors");
  return request;
}

// Pixels differ by rounding only: at most one level, in few places.
void expect_same_picture(const io::Image& image, const std::string& reference) {
  const auto expected = io::read_image(test::data_path("demo-reference/" + reference));
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_EQ(image.pixels.size(), expected->pixels.size());
  size_t different = 0;
  int largest = 0;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const int apart = std::abs(image.pixels[i] - expected->pixels[i]);
    different += apart != 0;
    largest = std::max(largest, apart);
  }
  EXPECT_LE(largest, 1);
  EXPECT_LE(different, image.pixels.size() / 50);
}

TEST_P(Demo, AgreesWithDiffusers) {
  const auto session = open(demo_model());
  ASSERT_TRUE(session);
  const test::Golden golden("demo-reference/reference.safetensors");
  const std::string key = GetParam().key;
  Request request = demo_request(GetParam());
  const Tensor noise = golden.tensor(concat("init.", GetParam().number));
  const bool ddim = key.find("ddim") != std::string::npos;
  // DDIM's state is the variance-preserving one, x / sqrt(1 + sigma^2): it starts from the noise itself and ends at the
  // level of timestep 0 rather than at zero.
  constexpr double kFirst = 14.6146412, kLast = 0.0291671582;
  if (ddim) {
    const auto table = sample::NoiseTable::from_alphas_cumprod(
        sample::cumulative_alphas(*sample::betas_named("scaled_linear", 0.00085, 0.012)));
    const auto sigmas = sample::make_sigmas(**sample::schedule_named("simple"), {20, *table, 1});
    request.sigmas.assign(sigmas->begin(), sigmas->end());
    request.sigmas.back() = kLast;
    request.init_latents = scaled(noise, std::sqrt(1 + kFirst * kFirst) / kFirst);
  } else {
    request.init_latents = noise;
  }
  const auto result = draw(*session, request);
  ASSERT_EQ(result.pictures.size(), 1u);
  const Tensor latents = scaled(result.pictures[0].latents.clone(), ddim ? 1 / std::sqrt(1 + kLast * kLast) : 1.0);
  EXPECT_TRUE(test::close_to(latents, golden.tensor(key), 5e-4));
  if (!ddim)
    expect_same_picture(result.pictures[0].image,
                        concat(key.substr(0, key.find('.')), "-euler-", GetParam().number, ".png"));
}

TEST_P(DemoTiny, DecodesWithTheTinyAutoencoder) {
  const std::string key = GetParam().key;
  if (key.find("ddim") != std::string::npos) return;  // its pictures exist for the Euler runs
  const auto session = open(demo_model(), demo_model() / "vae_tiny");
  ASSERT_TRUE(session);
  Request request = demo_request(GetParam());
  request.init_latents =
      test::Golden("demo-reference/reference.safetensors").tensor(concat("init.", GetParam().number));
  const auto result = draw(*session, request);
  ASSERT_EQ(result.pictures.size(), 1u);
  expect_same_picture(result.pictures[0].image, concat("base-euler-", GetParam().number, "-tiny.png"));
}

std::string name_of(const testing::TestParamInfo<Run>& run) {
  std::string name = run.param.key;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Runs, Demo, testing::ValuesIn(kRuns), name_of);
INSTANTIATE_TEST_SUITE_P(Adapters, Demo, testing::ValuesIn(kAdapterRuns), name_of);
INSTANTIATE_TEST_SUITE_P(Runs, DemoTiny, testing::ValuesIn(kRuns), name_of);

}  // namespace
}  // namespace veneer
