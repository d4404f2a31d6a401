// UNets that differ from the published ones: with parts left out, in either spelling, and with a guidance input.
#include "model/unet.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/unet_names.h"
#include "tests/support/place.h"

namespace veneer::model {
namespace {

// The denoiser of a folder under tests/data.
io::ModelPart denoiser_of(const std::string& folder) {
  io::ModelPaths paths;
  paths.model = std::filesystem::path(VENEER_SOURCE_DIR) / "tests/data" / folder;
  const auto files = io::open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  return files ? files->parts.at(io::Part::kDenoiser) : io::ModelPart();
}

io::ModelPart without(io::ModelPart part, const std::vector<std::string>& prefixes) {
  part.weights = part.weights.renamed([&](std::string_view name) {
    const bool dropped = std::ranges::any_of(prefixes, [&](const auto& prefix) { return name.starts_with(prefix); });
    return dropped ? std::string() : std::string(name);
  });
  return part;
}

io::ModelPart in_original_spelling(io::ModelPart part) {
  const NameMap names = unet_names_as_original(names_of(part.weights));
  part.weights = names.apply(part.weights);
  return part;
}

std::vector<float> forward(const io::ModelPart& part, float guidance = 0) {
  const auto unet = build_unet(part);
  EXPECT_TRUE(unet) << unet.error().message;
  if (!unet) return {};
  Denoiser::Input input{Tensor::zeros({1, 8, 8, (*unet)->input_channels()}), 500.0f,
                        Tensor::zeros({1, 3, (*unet)->context_width()})};
  input.vector = Tensor::zeros({1, (*unet)->vector_width()});
  input.guidance = guidance;
  for (Tensor* tensor : {&input.x, &input.context, &input.vector})
    for (int64_t i = 0; i < tensor->elements(); ++i) tensor->f32()[i] = std::sin(0.7f * static_cast<float>(i));
  test::Place place("ref");
  const Tensor out = place.run_one([&](nn::Context& context) { return (*unet)->forward(context, input); });
  return {out.values().begin(), out.values().end()};
}

TEST(UNet, PartsMayBeLeftOutInEitherSpelling) {
  const io::ModelPart whole = denoiser_of("tiny-sdxl");
  const std::vector<std::vector<std::string>> reductions = {
      {},
      {"mid_block.attentions.", "mid_block.resnets.1."},   // one block in the middle
      {"mid_block."},                                      // nothing there
      {"up_blocks.0.attentions.0.transformer_blocks.1."},  // depths that differ within a level
      {"down_blocks.1.attentions.", "up_blocks.0.attentions.0.", "mid_block.attentions."}};
  std::vector<std::vector<float>> seen;
  for (const auto& prefixes : reductions) {
    const io::ModelPart reduced = without(whole, prefixes);
    const std::vector<float> out = forward(reduced);
    EXPECT_EQ(forward(in_original_spelling(reduced)), out);
    EXPECT_EQ(std::ranges::count(seen, out), 0);
    seen.push_back(out);
  }
}

TEST(UNet, AnUpperHalfWithoutItsSkipsIsRefused) {
  const auto unet = build_unet(without(denoiser_of("tiny-sdxl"), {"down_blocks.1."}));
  ASSERT_FALSE(unet);
  EXPECT_EQ(unet.error().code, ErrorCode::kMismatch);
}

// Sines first: at a guidance of 1 they are zero and the cosines one.
TEST(UNet, GuidanceIsEmbeddedSinesFirst) {
  constexpr int64_t kTime = 32, kWidth = 8;
  const io::ModelPart plain = denoiser_of("tiny-sd1");
  const auto with_columns = [&](int64_t first) {
    std::vector<float> values(static_cast<size_t>(kTime * kWidth));
    for (int64_t row = 0; row < kTime; ++row) std::fill_n(values.begin() + row * kWidth + first, kWidth / 2, 0.1f);
    io::WeightStore::Entries entries;
    const std::string name = "time_embedding.cond_proj.weight";
    entries[name] = {codec::weight_from(values, {kTime, kWidth}, *codec::find_codec("f32"), name), "F32"};
    io::ModelPart part = plain;
    part.weights = plain.weights.layered({std::move(entries), {}, {}});
    return part;
  };
  EXPECT_EQ(forward(with_columns(0), 1.0f), forward(plain));
  EXPECT_NE(forward(with_columns(0), 2.0f), forward(plain));
  EXPECT_NE(forward(with_columns(kWidth / 2), 1.0f), forward(plain));
}

}  // namespace
}  // namespace veneer::model
