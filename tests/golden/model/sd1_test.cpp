// The networks of the tiny Stable Diffusion 1.x model against diffusers and transformers in float32
// (tests/data/tiny-sd1/golden). Tolerance: 2e-5 of the largest value for one network call; float32 itself costs 1.4e-6
// (the references' float64 tells).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/devices.h"
#include "io/model_files.h"
#include "model/model.h"
#include "nn/operations.h"
#include "pipeline/memory.h"
#include "tests/support/golden.h"

namespace veneer {
namespace {

constexpr double kTolerance = 2e-5;

// How the model is read, and where it computes.
struct Form {
  const char* path;
  const char* device;
};

io::ModelFiles open_files(const char* path) {
  io::ModelPaths paths;
  paths.model = test::data_path(path);
  auto files = io::open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  return files ? *std::move(files) : io::ModelFiles();
}

class Sd1 : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    io::ModelFiles files = open_files(GetParam().path);
    // A single file cannot tell its heads and its activation: the folder's configurations do.
    if (std::string(GetParam().path).ends_with(".safetensors")) {
      const io::ModelFiles folder = open_files("tiny-sd1");
      for (auto& [part, content] : files.parts) content.config = folder.find(part)->config;
    }
    auto built = model::build_model(files);
    ASSERT_TRUE(built) << built.error().message;
    model_ = *std::move(built);
    auto device = device::open_device(GetParam().device, 2, true);
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    place_.emplace(*device_, panels_);
  }

  const model::TextEncoder& text_encoder() const { return *model_.text_encoder(io::Part::kTextEncoder); }

  // Runs `network` in an arena of its own and copies the result out.
  Tensor run(const std::function<Tensor(nn::Context&)>& network) {
    Tensor result;
    place_->run([&](nn::Context& context) {
      const Tensor out = network(context);
      if (!context.measuring()) result = out.clone();
    });
    return result;
  }

  test::Golden golden_{"tiny-sd1/golden.safetensors"};
  model::Model model_;
  std::unique_ptr<device::Device> device_;
  nn::PanelCache panels_{size_t{1} << 30};
  std::optional<pipeline::Workplace> place_;
};

TEST_P(Sd1, TextEncoder) {
  const auto ids = golden_.ids("input_ids");
  const Tensor states = run([&](nn::Context& context) { return text_encoder().encode(context, {.ids = ids}).states; });
  EXPECT_TRUE(test::close_to(states, golden_.tensor("base/te/last"), kTolerance));
}

// Clip-skip 2: the last layer is left out, the final norm is not.
TEST_P(Sd1, TextEncoderWithoutItsLastLayer) {
  const auto ids = golden_.ids("input_ids");
  const auto& layers = text_encoder().layers().all();
  const auto norm = std::find_if(layers.begin(), layers.end(),
                                 [](const nn::Layer& layer) { return layer.name.ends_with("final_layer_norm"); });
  ASSERT_NE(norm, layers.end());
  const Tensor hidden = golden_.tensor("base/te/hidden.1");
  const Tensor expected = run([&](nn::Context& context) { return nn::layer_norm(context, *norm, hidden, 1e-5f); });
  const Tensor states =
      run([&](nn::Context& context) { return text_encoder().encode(context, {.ids = ids, .skip = 1}).states; });
  EXPECT_TRUE(test::close_to(states, expected, kTolerance));
}

TEST_P(Sd1, UNetAtThreeTimesteps) {
  for (const int timestep : {981, 500, 1}) {
    const model::Denoiser::Input input{golden_.map("latents"), static_cast<float>(timestep),
                                       golden_.tensor("base/te/last")};
    const Tensor out = run([&](nn::Context& context) { return model_.denoiser->forward(context, input); });
    EXPECT_TRUE(test::close_to(out, golden_.map(concat("base/unet/t", timestep)), kTolerance)) << timestep;
  }
}

TEST_P(Sd1, UNetGivesEachEntryOfABatchWhatItGivesItAlone) {
  const Tensor latents = golden_.map("latents"), states = golden_.tensor("base/te/last"),
               negative = golden_.tensor("base/te/last_negative");
  const auto alone = [&](const Tensor& text) {
    return run([&](nn::Context& context) { return model_.denoiser->forward(context, {latents, 500.0f, text}); });
  };
  const Tensor both = run([&](nn::Context& context) {
    return model_.denoiser->forward(context,
                                    {test::as_batch(latents, latents), 500.0f, test::as_batch(states, negative)});
  });
  EXPECT_TRUE(test::close_to(both, test::as_batch(alone(states), alone(negative)), kTolerance));
}

TEST_P(Sd1, AutoencoderDecodes) {
  const Tensor picture = run([&](nn::Context& context) { return model_.vae->decode(context, golden_.map("latents")); });
  Tensor expected = golden_.map("base/vae/decode");
  for (float& value : expected.values()) value = value / 2 + 0.5f;  // the reference gives -1..1
  EXPECT_TRUE(test::close_to(picture, expected, kTolerance));
}

TEST_P(Sd1, AutoencoderEncodes) {
  Tensor image = golden_.map("image");
  for (float& value : image.values()) value = value / 2 + 0.5f;
  Tensor deviation;
  const Tensor mean = run([&](nn::Context& context) {
    auto encoded = model_.vae->encode(context, image);
    if (!context.measuring()) deviation = encoded.deviation->clone();
    return encoded.mean;
  });
  Tensor expected = golden_.map("base/vae/encode_mean");
  for (float& value : expected.values()) value *= 0.18215f;
  EXPECT_TRUE(test::close_to(mean, expected, kTolerance));
  Tensor expected_deviation = golden_.map("base/vae/encode_logvar");
  for (float& value : expected_deviation.values()) value = std::exp(0.5f * value) * 0.18215f;
  EXPECT_TRUE(test::close_to(deviation, expected_deviation, kTolerance));
}

INSTANTIATE_TEST_SUITE_P(Forms, Sd1,
                         testing::Values(Form{"tiny-sd1", "ref"}, Form{"tiny-sd1", "cpu"},
                                         Form{"tiny-sd1/tiny-sd1-ldm.safetensors", "cpu"}),
                         [](const auto& form) {
                           return concat(
                               std::string(form.param.path).ends_with(".safetensors") ? "SingleFile" : "Folder",
                               std::string(form.param.device) == "ref" ? "Ref" : "Cpu");
                         });

class TinyAutoencoders : public testing::TestWithParam<const char*> {};

// The same numbers in diffusers' numbering and as the published pair of files.
TEST_P(TinyAutoencoders, EncodeAndDecode) {
  io::ModelPaths paths;
  paths.model = test::data_path("tiny-sd1");
  paths.tiny_vae = test::data_path(GetParam());
  const auto files = io::open_model_files(paths);
  ASSERT_TRUE(files) << files.error().message;
  const auto model = model::build_model(*files);
  ASSERT_TRUE(model) << model.error().message;
  const auto device = device::open_device("cpu", 2, true);
  ASSERT_TRUE(device);
  nn::PanelCache panels(size_t{1} << 30);
  pipeline::Workplace place(**device, panels);
  const test::Golden golden("tiny-sd1/golden.safetensors");
  Tensor image = golden.map("image"), decoded, encoded;
  for (float& value : image.values()) value = value / 2 + 0.5f;
  place.run([&](nn::Context& context) {
    const Tensor d = model->tiny_vae->decode(context, golden.map("latents"));
    const Tensor e = model->tiny_vae->encode(context, image).mean;
    if (context.measuring()) return;
    decoded = d.clone();
    encoded = e.clone();
  });
  Tensor expected = golden.map("base/taesd/decode");
  for (float& value : expected.values()) value = value / 2 + 0.5f;
  EXPECT_TRUE(test::close_to(decoded, expected, kTolerance));
  EXPECT_TRUE(test::close_to(encoded, golden.map("base/taesd/encode"), kTolerance));
}

INSTANTIATE_TEST_SUITE_P(Spellings, TinyAutoencoders,
                         testing::Values("tiny-sd1/taesd", "tiny-sd1/taesd/taesd_decoder.safetensors"),
                         [](const auto& spelling) {
                           return std::string(spelling.param).ends_with(".safetensors") ? "Pair" : "Folder";
                         });

}  // namespace
}  // namespace veneer
