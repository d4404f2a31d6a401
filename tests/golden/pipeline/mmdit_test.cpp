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

// The reference took 32 tokens of text, a run takes 256, so that numbers differ: what is tested is that all parts meet.
TEST(MmditTrajectory, TinyFluxDraws) {
  const test::Golden golden("tiny-flux-schnell/golden.safetensors");
  io::ModelPaths schnell{.model = test::data_path("tiny-flux-schnell"),
                         .vae = test::data_path("tiny-flux-schnell/ae.safetensors")};
  io::ModelPaths dev = schnell;
  dev.denoiser = test::data_path("tiny-flux-dev/tiny-flux-dev-bfl.safetensors");
  std::vector<Tensor> latents;
  for (const io::ModelPaths& paths : {schnell, dev}) {
    const auto session = test::open_session(paths);
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
