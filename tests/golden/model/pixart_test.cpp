// The tiny PixArt transformers against diffusers in float32 (tests/data/tiny-pixart, tiny-pixart-extra). Tolerance:
// 2e-5 of the largest value for one network call; an independent evaluation in float32 differs by 3e-6 of it.
#include "model/pixart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "device/devices.h"
#include "model/family.h"
#include "model/pixart_text.h"
#include "model/t5.h"
#include "pipeline/memory.h"
#include "tests/support/golden.h"

namespace veneer {
namespace {

constexpr double kTolerance = 2e-5;

io::ModelPart open_denoiser(const std::string& path) {
  io::ModelPaths paths;
  paths.denoiser = test::data_path(path);
  const auto files = io::open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  const io::ModelPart* part = files ? files->find(io::Part::kDenoiser) : nullptr;
  EXPECT_NE(part, nullptr);
  return part ? *part : io::ModelPart();
}

// The folder's configuration has what a single file does not tell: heads and the trained size.
io::ModelPart open_original() {
  io::ModelPart part = open_denoiser("tiny-pixart/transformer-original.safetensors");
  part.config = open_denoiser("tiny-pixart/transformer").config;
  return part;
}

Tensor key_mask(const std::vector<int32_t>& kept) {
  Tensor mask = Tensor::zeros({1, static_cast<int64_t>(kept.size())});
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i] == 0) mask.f32()[i] = -std::numeric_limits<float>::infinity();
  return mask;
}

// The channels that predict the noise; those of the learned variance follow.
Tensor noise_of(const Tensor& map) {
  Tensor noise = Tensor::zeros({map.shape[0], map.shape[1], map.shape[2], 4});
  for (int64_t i = 0; i < noise.elements(); ++i) noise.f32()[i] = map.f32()[i / 4 * map.shape[3] + i % 4];
  return noise;
}

class PixArt : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened = device::open_device(GetParam(), 2, true);
    ASSERT_TRUE(opened) << opened.error().message;
    device_ = *std::move(opened);
  }

  Tensor forward(const io::ModelPart& part, const model::Denoiser::Input& input) {
    const auto built = model::build_pixart(part);
    EXPECT_TRUE(built) << built.error().message;
    Tensor result;
    nn::PanelCache panels(size_t{1} << 30);  // of this network
    pipeline::Workplace(*device_, panels).run([&](nn::Context& context) {
      const Tensor out = (*built)->forward(context, input);
      if (!context.measuring()) result = out.clone();
    });
    return result;
  }
  model::Denoiser::Input input(const Tensor& latents, float timestep, const Tensor& vector = {}) const {
    return {latents, timestep, golden_.tensor("base/t5/last"), key_mask(golden_.ids("attention_mask")), vector};
  }

  test::Golden golden_{"tiny-pixart/golden.safetensors"}, extra_{"tiny-pixart-extra/golden.safetensors"};
  std::unique_ptr<device::Device> device_;
};
INSTANTIATE_TEST_SUITE_P(Devices, PixArt, testing::Values("ref", "cpu"));

TEST_P(PixArt, TwoTimesteps) {
  const io::ModelPart part = open_denoiser("tiny-pixart/transformer");
  for (const int timestep : {981, 500}) {
    const Tensor out = forward(part, input(golden_.map("latents"), static_cast<float>(timestep)));
    EXPECT_TRUE(test::close_to(out, noise_of(golden_.map(concat("base/transformer/t", timestep))), kTolerance));
  }
}

TEST_P(PixArt, OriginalSpelling) {
  const Tensor out = forward(open_original(), input(golden_.map("latents"), 500.0f));
  EXPECT_TRUE(test::close_to(out, noise_of(golden_.map("base/transformer/t500")), kTolerance));
}

TEST_P(PixArt, SizesAsConditions) {
  const float sizes[] = {32, 32};
  const Tensor out = forward(open_denoiser("tiny-pixart/transformer_micro"),
                             input(golden_.map("latents"), 500.0f, Tensor::from(sizes, {1, 2})));
  EXPECT_TRUE(test::close_to(out, noise_of(golden_.map("base/transformer_micro/t500")), kTolerance));
}

// Neither square nor of the trained size: rows and columns, height and width, and the stretching of places.
TEST_P(PixArt, AnotherSizeThanTheTrainedOne) {
  const Tensor latents = extra_.map("latents");
  const Tensor out = forward(open_denoiser("tiny-pixart/transformer"), input(latents, 500.0f));
  EXPECT_TRUE(test::close_to(out, noise_of(extra_.map("transformer/t500")), kTolerance));
  const float sizes[] = {48, 24};
  const Tensor told =
      forward(open_denoiser("tiny-pixart/transformer_micro"), input(latents, 500.0f, Tensor::from(sizes, {1, 2})));
  EXPECT_TRUE(test::close_to(told, noise_of(extra_.map("transformer_micro/t500")), kTolerance));
}

TEST_P(PixArt, ABatchGivesEachImageWhatItGivesItAlone) {
  const io::ModelPart part = open_denoiser("tiny-pixart/transformer");
  const model::Denoiser::Input one = input(golden_.map("latents"), 500.0f);
  const model::Denoiser::Input other{one.x, 500.0f, golden_.tensor("base/t5/last_negative"),
                                     key_mask(golden_.ids("negative_mask"))};
  const Tensor both = forward(part, {test::as_batch(one.x, other.x), 500.0f, test::as_batch(one.context, other.context),
                                     test::as_batch(one.context_mask, other.context_mask)});
  EXPECT_TRUE(test::close_to(both, test::as_batch(forward(part, one), forward(part, other)), kTolerance));
}

TEST_P(PixArt, ItsTextEncoder) {
  io::ModelPaths paths;
  paths.model = test::data_path("tiny-pixart");
  const auto files = io::open_model_files(paths);
  ASSERT_TRUE(files) << files.error().message;
  const io::ModelPart* part = files->find(io::Part::kTextEncoder3);
  ASSERT_NE(part, nullptr);
  const auto encoder = model::build_t5(*part, "text_encoder");
  ASSERT_TRUE(encoder) << encoder.error().message;
  const auto ids = golden_.ids("input_ids");
  const Tensor mask = key_mask(golden_.ids("attention_mask"));
  Tensor states;
  nn::PanelCache panels(size_t{1} << 30);
  pipeline::Workplace(*device_, panels).run([&](nn::Context& context) {
    const auto out = (*encoder)->encode(context, {.ids = ids, .key_mask = mask});
    if (!context.measuring()) states = out.states.clone();
  });
  EXPECT_TRUE(test::close_to(states, golden_.tensor("base/t5/last"), kTolerance));
}

TEST(PixArtBuild, TellsWhatItTakes) {
  const auto plain = model::build_pixart(open_denoiser("tiny-pixart/transformer"));
  const auto told = model::build_pixart(open_denoiser("tiny-pixart/transformer_micro"));
  ASSERT_TRUE(plain && told);
  EXPECT_EQ((*plain)->input_channels(), 4);
  EXPECT_EQ((*plain)->latent_channels(), 4);
  EXPECT_EQ((*plain)->context_width(), 32);
  EXPECT_EQ((*plain)->size_multiple(), 2);
  EXPECT_EQ((*plain)->vector_width(), 0);
  EXPECT_EQ((*told)->vector_width(), 2);
  EXPECT_TRUE((*plain)->unused_tensors().empty());
}

// The matrices that the file holds fused are views of it: no weight is held twice.
TEST(PixArtBuild, BothSpellingsHaveTheSameLayers) {
  const auto names_of = [](const io::ModelPart& part) {
    const auto built = model::build_pixart(part);
    EXPECT_TRUE(built) << built.error().message;
    std::vector<std::string> names;
    for (const nn::Layer& layer : (*built)->layers().all()) names.push_back(layer.name);
    EXPECT_TRUE((*built)->unused_tensors().empty());
    return names;
  };
  const auto names = names_of(open_denoiser("tiny-pixart/transformer"));
  EXPECT_EQ(names, names_of(open_original()));
  EXPECT_EQ(names.size(), 27u);
}

TEST(PixArtFamily, SigmaIsToldByItsTextOrItsTraining) {
  const auto family = [](const io::ModelPart& part) {
    const auto found = model::identify(part);
    EXPECT_TRUE(found) << found.error().message;
    return found ? (*found)->name : std::string_view();
  };
  const auto with_captions_of = [](io::ModelPart part, int64_t tokens) {
    const std::vector<float> values(static_cast<size_t>(2 * tokens));
    io::WeightStore::Entries more;
    more["y_embedder.y_embedding"] = {codec::weight_from(values, {tokens, 2}, *codec::find_codec("f32")), "F32"};
    part.weights = part.weights.layered({std::move(more), {}, {}});
    return part;
  };
  io::ModelPart part = open_denoiser("tiny-pixart/transformer"), told = open_denoiser("tiny-pixart/transformer_micro");
  EXPECT_EQ(family(part), "PixArt-alpha");
  EXPECT_EQ(family(told), "PixArt-alpha 1024");
  part.config["sample_size"] = told.config["sample_size"] = 128;
  EXPECT_EQ(family(part), "PixArt-Sigma");
  EXPECT_EQ(family(told), "PixArt-alpha 1024");
  EXPECT_EQ(family(open_original()), "PixArt-alpha");
  EXPECT_EQ(family(with_captions_of(open_original(), 120)), "PixArt-alpha");
  const io::ModelPart sigma = with_captions_of(open_original(), 300);
  EXPECT_EQ(family(sigma), "PixArt-Sigma");
  const auto built = model::build_pixart(sigma);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE((*built)->unused_tensors().empty());
}

TEST(PixArtFamily, HeightComesFirst) {
  const auto denoiser = model::build_pixart(open_denoiser("tiny-pixart/transformer_micro"));
  ASSERT_TRUE(denoiser) << denoiser.error().message;
  const model::EncodedText text{Tensor::zeros({1, 3, 32}), {}, Tensor::zeros({1, 3})};
  const model::Condition given =
      model::kPixArtAlphaText.join({.texts = {&text, 1}, .denoiser = **denoiser, .height = 48, .width = 24});
  ASSERT_EQ(given.vector.shape, (Shape{1, 2}));
  EXPECT_EQ(given.vector.f32()[0], 48.0f);
  EXPECT_EQ(given.vector.f32()[1], 24.0f);
  EXPECT_EQ(given.mask.elements(), 3);
}

TEST(PixArtBuild, WrongSizesAndMissingTensorsAreNamed) {
  const auto problem = [](const io::ModelPart& part) {
    const auto built = model::build_pixart(part);
    EXPECT_FALSE(built);
    return built ? Error() : built.error();
  };
  io::ModelPart part = open_denoiser("tiny-pixart/transformer");
  const io::ModelPart whole = part;
  part.config["num_attention_heads"] = 7;
  EXPECT_EQ(problem(part).code, ErrorCode::kMismatch);
  part.config["num_attention_heads"] = 0;
  EXPECT_EQ(problem(part).code, ErrorCode::kBadFile);
  part.config["num_attention_heads"] = "four";
  EXPECT_NE(problem(part).message.find("num_attention_heads"), std::string::npos);
  for (const char* gone : {"pos_embed.proj.weight", "transformer_blocks.1.scale_shift_table", "scale_shift_table",
                           "caption_projection.linear_1.weight", "proj_out.bias"}) {
    part = whole;
    part.weights =
        part.weights.renamed([gone](std::string_view name) { return name == gone ? "" : std::string(name); });
    const Error error = problem(part);
    EXPECT_EQ(error.code, ErrorCode::kBadFile) << error.message;
    EXPECT_NE(error.message.find(gone), std::string::npos) << error.message;
  }
  part = whole;
  part.weights = part.weights.renamed([](std::string_view name) {
    return name == "proj_out.weight" ? std::string("blocks.0.attn.sr.weight") : std::string(name);
  });
  EXPECT_EQ(problem(part).code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace veneer
