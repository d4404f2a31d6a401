// The networks of the tiny Stable Diffusion XL model and its refiner against diffusers and transformers in float32
// (tests/data/tiny-sdxl, tiny-sdxl-refiner). Tolerance: 2e-5 of the largest value for one network call; float32 itself
// costs 1e-6.
#include <gtest/gtest.h>

#include "core/format.h"
#include "model/model.h"
#include "tests/support/golden.h"
#include "tests/support/place.h"

namespace veneer {
namespace {

constexpr double kTolerance = 2e-5;

model::Model build(const io::ModelPaths& paths, const std::function<void(io::ModelFiles&)>& change = {}) {
  auto files = io::open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  if (!files) return {};
  if (change) change(*files);
  auto model = model::build_model(*files);
  EXPECT_TRUE(model) << model.error().message;
  return model ? *std::move(model) : model::Model();
}

io::ModelPart open_part(const std::string& path, io::Part part) {
  io::ModelPaths paths;
  paths.model = test::data_path(path);
  const auto files = io::open_model_files(paths);
  EXPECT_TRUE(files && files->find(part)) << path;
  return files && files->find(part) ? *files->find(part) : io::ModelPart();
}

model::EncodedText encode(test::Place& place, const model::Model& model, const model::TextUse& use,
                          const std::vector<int32_t>& ids) {
  const model::TextEncoder& encoder = *model.text_encoder(use.part);
  model::TextEncoder::Input input{
      .ids = ids, .skip = model::layers_left_out(use, encoder, 0), .final_norm = use.final_norm};
  input.pooled = use.pooled != model::ClipPooled::kNone;
  const std::vector<Tensor> out = place.run([&](nn::Context& context) {
    const auto encoded = encoder.encode(context, input);
    return input.pooled ? std::vector{encoded.states, encoded.pooled} : std::vector{encoded.states};
  });
  return {out[0], input.pooled ? out[1] : Tensor(), {}};
}

Tensor denoise(test::Place& place, const model::Model& model, const model::Denoiser::Input& input) {
  return place.run_one([&](nn::Context& context) { return model.denoiser->forward(context, input); });
}

struct Form {
  const char* device;
  bool original_encoders;  // both encoders in the spelling of the published checkpoint
};

class Sdxl : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sdxl");
    model_ = build(paths, [](io::ModelFiles& files) {
      if (!GetParam().original_encoders) return;
      // A single file tells neither heads nor activation: the folder's configurations do.
      for (const io::Part part : {io::Part::kTextEncoder, io::Part::kTextEncoder2}) {
        io::ModelPart original = open_part("tiny-sdxl/text-encoders-original.safetensors", part);
        original.config = files.parts[part].config;
        files.parts[part] = std::move(original);
      }
    });
    ASSERT_TRUE(model_.denoiser);
  }
  std::vector<model::EncodedText> encode_both() {
    const auto uses = model_.text_plan().uses;
    return {encode(place_, model_, uses[0], golden_.ids("input_ids")),
            encode(place_, model_, uses[1], golden_.ids("input_ids_2"))};
  }

  test::Golden golden_{"tiny-sdxl/golden.safetensors"};
  test::Place place_{GetParam().device};
  model::Model model_;
};

TEST_P(Sdxl, IsRecognised) { EXPECT_EQ(model_.family->name, "SDXL"); }

TEST_P(Sdxl, TextEncodersStopBeforeTheirLastLayers) {
  const auto texts = encode_both();
  EXPECT_TRUE(test::close_to(texts[0].states, golden_.tensor("base/te1/hidden.1"), kTolerance));
  EXPECT_TRUE(test::close_to(texts[1].states, golden_.tensor("base/te2/hidden.2"), kTolerance));
  EXPECT_TRUE(test::close_to(texts[1].pooled, golden_.tensor("base/te2/text_embeds"), kTolerance));
  EXPECT_TRUE(texts[0].pooled.empty());
}

TEST_P(Sdxl, UNetUnderJoinedTexts) {
  const auto texts = encode_both();
  const model::Condition condition =
      model_.text_plan().join({.texts = texts, .denoiser = *model_.denoiser, .height = 32, .width = 32});
  EXPECT_TRUE(test::close_to(condition.states, golden_.tensor("base/context"), kTolerance));
  for (const int timestep : {981, 500}) {
    const Tensor out = denoise(
        place_, model_,
        {golden_.map("latents"), static_cast<float>(timestep), golden_.tensor("base/context"), {}, condition.vector});
    EXPECT_TRUE(test::close_to(out, golden_.map(concat("base/unet/t", timestep)), kTolerance)) << timestep;
  }
}

TEST_P(Sdxl, AutoencoderHasAScaleOfItsOwn) {
  const Tensor picture =
      place_.run_one([&](nn::Context& context) { return model_.vae->decode(context, golden_.map("latents")); });
  Tensor expected = golden_.map("base/vae/decode");
  for (float& value : expected.values()) value = value / 2 + 0.5f;  // the reference gives -1..1
  EXPECT_TRUE(test::close_to(picture, expected, kTolerance));
}

INSTANTIATE_TEST_SUITE_P(Forms, Sdxl, testing::Values(Form{"ref", false}, Form{"cpu", false}, Form{"cpu", true}),
                         [](const auto& form) {
                           return std::string(form.param.device) + (form.param.original_encoders ? "Original" : "");
                         });

class Refiner : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sdxl-refiner");  // of the UNet only its configuration
    paths.denoiser = test::data_path("tiny-sdxl-refiner/tiny-sdxl-refiner-original.safetensors");
    paths.vae = test::data_path("tiny-sdxl/vae");
    model_ = build(paths, [](io::ModelFiles& files) {
      if (!GetParam().original_encoders) return;
      io::ModelPart original =
          open_part("tiny-sdxl-refiner/tiny-sdxl-refiner-original.safetensors", io::Part::kTextEncoder2);
      original.config = files.parts[io::Part::kTextEncoder2].config;
      files.parts[io::Part::kTextEncoder2] = std::move(original);
    });
    ASSERT_TRUE(model_.denoiser);
  }
  test::Golden golden_{"tiny-sdxl-refiner/golden.safetensors"};
  test::Place place_{GetParam().device};
  model::Model model_;
};

TEST_P(Refiner, IsRecognised) { EXPECT_EQ(model_.family->name, "SDXL refiner"); }

TEST_P(Refiner, TextEncoderAndPooledVector) {
  for (const auto& [ids, expected] : {std::pair("input_ids", "te"), std::pair("negative_ids", "te_negative")}) {
    const auto text = encode(place_, model_, model_.text_plan().uses[0], golden_.ids(ids));
    EXPECT_TRUE(test::close_to(text.states, golden_.tensor(concat(expected, "/context")), kTolerance)) << ids;
    EXPECT_TRUE(test::close_to(text.pooled, golden_.tensor(concat(expected, "/pooled")), kTolerance)) << ids;
  }
}

// The pooled vector, then the sinusoids of height, width, top, left and score.
TEST_P(Refiner, VectorOfNumbers) {
  const Tensor numbers = golden_.tensor("add_time_ids"), expected = golden_.tensor("vector");
  const std::vector<double> values(numbers.values().begin(), numbers.values().end());
  const int64_t pooled = golden_.tensor("te/pooled").elements();
  const Tensor places = model::sinusoids(values, (expected.elements() - pooled) / std::ssize(values));
  EXPECT_TRUE(test::close_to(places, Tensor::from(expected.values().subspan(static_cast<size_t>(pooled)), places.shape),
                             kTolerance));
}

TEST_P(Refiner, UNetAtTwoTimesteps) {
  for (const int timestep : {300, 40}) {
    const Tensor out = denoise(place_, model_,
                               {golden_.map("latents"),
                                static_cast<float>(timestep),
                                golden_.tensor("te/context"),
                                {},
                                golden_.tensor("vector")});
    EXPECT_TRUE(test::close_to(out, golden_.map(concat("unet/t", timestep)), kTolerance)) << timestep;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Refiner, testing::Values(Form{"ref", false}, Form{"cpu", true}),
                         [](const auto& form) { return std::string(form.param.device); });

}  // namespace
}  // namespace veneer
