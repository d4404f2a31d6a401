// Whole runs of the tiny SD3 and FLUX.1 models against diffusers. Tolerance: 2e-4 of the largest value for four steps;
// the reference computes in float32 as well, and guidance multiplies the difference of a call by about its scale.
#include "tests/golden/pipeline/runs.h"

namespace veneer {
namespace {

using pipeline::Request;
using test::draw;
using test::state_of;

Request request_of(const std::string& prompt, const test::Golden& golden) {
  const Tensor sigmas = golden.tensor("euler/sigmas");
  Request request;
  request.prompt = prompt;
  request.width = 24;
  request.height = 32;
  request.sampler = *sample::sampler_named("euler");
  request.sigmas.assign(sigmas.values().begin(), sigmas.values().end());
  request.init_latents = golden.tensor("latents");
  return request;
}

TEST(MmditTrajectory, TinySd3) {
  const auto session = test::open_session({.model = test::data_path("tiny-sd3")});
  ASSERT_TRUE(session);
  const test::Golden golden("tiny-sd3/golden.safetensors");
  Request request = request_of("a painting of a red house by the sea", golden);
  request.negative_prompt = "blurry background";
  request.cfg_scale = 5;
  const auto result = draw(*session, request);
  ASSERT_EQ(result.pictures.size(), 1u);
  EXPECT_TRUE(test::close_to(result.pictures[0].latents, state_of(golden.tensor("euler/latents"), -1), 2e-4));
}

// State number `index` of a trajectory of packed latents [states, 1, 8 * 6, 16 * 2 * 2] as [1, 16, 16, 12].
Tensor unpacked_state(const Tensor& trajectory, int64_t index) {
  constexpr int64_t kChannels = 16, kHeight = 16, kWidth = 12;
  const float* packed = trajectory.f32() + index * kChannels * kHeight * kWidth;
  Tensor out = Tensor::zeros({1, kChannels, kHeight, kWidth});
  for (int64_t c = 0; c < kChannels; ++c)
    for (int64_t y = 0; y < kHeight; ++y)
      for (int64_t x = 0; x < kWidth; ++x)
        out.f32()[(c * kHeight + y) * kWidth + x] =
            packed[((y / 2) * kWidth / 2 + x / 2) * kChannels * 4 + c * 4 + y % 2 * 2 + x % 2];
  return out;
}

io::ModelPaths flux_paths(bool dev) {
  io::ModelPaths paths{.model = test::data_path("tiny-flux-schnell"),
                       .vae = test::data_path("tiny-flux-schnell/ae.safetensors")};
  if (dev) paths.denoiser = test::data_path("tiny-flux-dev/tiny-flux-dev-bfl.safetensors");
  return paths;
}

// The two differ in their schedule too: by the number of tokens, or not at all.
TEST(MmditTrajectory, TinyFlux) {
  for (const bool dev : {false, true}) {
    SCOPED_TRACE(dev ? "dev" : "schnell");
    const test::Golden golden(dev ? "tiny-flux-dev/golden.safetensors" : "tiny-flux-schnell/golden.safetensors");
    const auto session = test::open_session(flux_paths(dev));
    ASSERT_TRUE(session);
    Request request = request_of("a photo of a cat on the grass", golden);
    request.sigmas.clear();
    request.steps = 4;
    request.cfg_scale = 1;
    request.guidance = 3.5;
    request.t5_length = 32;
    const auto result = draw(*session, request);
    ASSERT_EQ(result.pictures.size(), 1u);
    EXPECT_TRUE(test::close_to(result.pictures[0].latents, unpacked_state(golden.tensor("euler/latents"), 4), 2e-4));
  }
}

// Without the reference's 32 tokens of text a run takes 256.
TEST(MmditTrajectory, TinyFluxTakesGuidanceWhereItIsDistilled) {
  const test::Golden golden("tiny-flux-schnell/golden.safetensors");
  std::vector<Tensor> latents;
  for (const bool dev : {false, true}) {
    const auto session = test::open_session(flux_paths(dev));
    ASSERT_TRUE(session);
    Request request = request_of("a photo of a cat on the grass", golden);
    request.cfg_scale = 1;
    for (const double guidance : {3.5, 2.0}) {
      request.guidance = guidance;
      const auto result = draw(*session, request);
      ASSERT_EQ(result.pictures.size(), 1u);
      EXPECT_EQ(first_non_finite(result.pictures[0].latents.values()), -1);
      latents.push_back(result.pictures[0].latents);
    }
  }
  EXPECT_TRUE(test::close_to(latents[0], latents[1], 0));      // schnell takes no guidance
  EXPECT_FALSE(test::close_to(latents[2], latents[3], 1e-3));  // dev does
}

// The table of positions has 12 rows of 2 latent pixels of 2 pixels.
TEST(MmditTrajectory, TinySd3RefusesSidesBeyondItsPositions) {
  const auto session = test::open_session({.model = test::data_path("tiny-sd3")});
  ASSERT_TRUE(session);
  Request request;
  request.width = 48;
  request.height = 52;
  const auto result = session->generate(request, {}, pipeline::CancelFlag());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_NE(result.error().message.find("48x48"), std::string::npos) << result.error().message;
}

}  // namespace
}  // namespace veneer
