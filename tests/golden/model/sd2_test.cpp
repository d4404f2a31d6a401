// The networks of the tiny Stable Diffusion 2 model against diffusers and transformers in float32
// (tests/data/tiny-sd2). Tolerance: 2e-5 of the largest value for one network call; float32 itself costs 1e-6.
#include <gtest/gtest.h>

#include "core/format.h"
#include "model/model.h"
#include "tests/support/golden.h"
#include "tests/support/place.h"

namespace veneer {
namespace {

constexpr double kTolerance = 2e-5;

// The file with original names has three layers in its text encoder, the folder two: the third is never run.
struct Form {
  const char* device;
  bool original_encoder;
};

class Sd2 : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sd2");  // of the UNet only its configuration
    paths.denoiser = test::data_path("tiny-sd2/tiny-sd2-ldm.safetensors");
    paths.vae = test::data_path("tiny-sd1/vae");
    auto files = io::open_model_files(paths);
    ASSERT_TRUE(files) << files.error().message;
    if (GetParam().original_encoder) {
      io::ModelPaths single;
      single.model = paths.denoiser;
      auto original = io::open_model_files(single);
      ASSERT_TRUE(original) << original.error().message;
      io::ModelPart& encoder = files->parts[io::Part::kTextEncoder];
      encoder.weights = original->parts.at(io::Part::kTextEncoder).weights;
    }
    auto built = model::build_model(*files);
    ASSERT_TRUE(built) << built.error().message;
    model_ = *std::move(built);
  }
  Tensor denoise(const model::Denoiser::Input& input) {
    return place_.run_one([&](nn::Context& context) { return model_.denoiser->forward(context, input); });
  }

  test::Golden golden_{"tiny-sd2/golden.safetensors"};
  test::Place place_{GetParam().device};
  model::Model model_;
};

TEST_P(Sd2, IsRecognised) { EXPECT_EQ(model_.family->name, "SD 2.x"); }

TEST_P(Sd2, TextEncoderWithoutTheLastLayerOfTheOriginal) {
  const model::TextUse& use = model_.text_plan().uses[0];
  const model::TextEncoder& encoder = *model_.text_encoder(use.part);
  EXPECT_EQ(encoder.depth(), GetParam().original_encoder ? 3 : 2);
  for (const auto& [name, expected] :
       {std::pair("input_ids", "te/context"), std::pair("negative_ids", "te/context_negative")}) {
    const auto ids = golden_.ids(name);
    const Tensor states = place_.run_one([&](nn::Context& context) {
      return encoder.encode(context, {.ids = ids, .skip = model::layers_left_out(use, encoder, 0)}).states;
    });
    EXPECT_TRUE(test::close_to(states, golden_.tensor(expected), kTolerance)) << name;
  }
}

TEST_P(Sd2, UNetAtThreeTimesteps) {
  for (const int timestep : {981, 500, 1}) {
    const Tensor out = denoise({golden_.map("latents"), static_cast<float>(timestep), golden_.tensor("te/context")});
    EXPECT_TRUE(test::close_to(out, golden_.map(concat("unet/t", timestep)), kTolerance)) << timestep;
  }
}

// What is asked to tell velocities from noise.
TEST_P(Sd2, UNetOfConstants) {
  model::Denoiser::Input input{Tensor::zeros({1, 8, 8, 4}), 999.0f, Tensor::zeros({1, 2, 32})};
  for (Tensor* tensor : {&input.x, &input.context}) std::ranges::fill(tensor->values(), 0.5f);
  EXPECT_TRUE(test::close_to(denoise(input), golden_.map("probe/output"), kTolerance));
}

INSTANTIATE_TEST_SUITE_P(Forms, Sd2, testing::Values(Form{"ref", false}, Form{"cpu", true}),
                         [](const auto& form) { return std::string(form.param.device); });

}  // namespace
}  // namespace veneer
