// SD3 and FLUX.1 denoisers: files that are refused, fused weights of any format, and prompts without all encoders.
#include "model/mmdit.h"

#include <gtest/gtest.h>

#include "io/model_files.h"
#include "model/flux.h"
#include "model/mmdit_text.h"
#include "model/model.h"
#include "model/sd3.h"
#include "tests/support/place.h"

namespace veneer::model {
namespace {

io::ModelPart open_denoiser(const std::string& path) {
  io::ModelPaths paths;
  paths.denoiser = std::filesystem::path(VENEER_SOURCE_DIR) / "tests/data" / path;
  const auto files = io::open_model_files(paths);
  EXPECT_TRUE(files) << files.error().message;
  return files ? files->parts.at(io::Part::kDenoiser) : io::ModelPart();
}

io::ModelPart sd3() { return open_denoiser("tiny-sd3/transformer"); }
io::ModelPart flux() { return open_denoiser("tiny-flux-schnell/transformer"); }
io::ModelPart original_flux() { return open_denoiser("tiny-flux-dev/tiny-flux-dev-bfl.safetensors"); }

// The part with a tensor of zeros put in, or in the place of another.
io::ModelPart with(io::ModelPart part, const std::string& name, const Shape& shape) {
  const std::vector<float> zeros(static_cast<size_t>(shape.elements()));
  io::Entry entry{codec::weight_from(zeros, shape, *codec::find_codec("f32"), name), "F32"};
  part.weights = part.weights.layered(io::WeightStore({{name, std::move(entry)}}, {}, {}));
  return part;
}

io::ModelPart without(io::ModelPart part, std::string_view prefix) {
  part.weights = part.weights.renamed(
      [&](std::string_view name) { return name.starts_with(prefix) ? std::string() : std::string(name); });
  return part;
}

void expect_refusal(const Result<std::unique_ptr<Denoiser>>& built, ErrorCode code, std::string_view words) {
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, code);
  EXPECT_NE(built.error().message.find(words), std::string::npos) << built.error().message;
}

TEST(Sd3Errors, LayerNormsOfQueries) {
  expect_refusal(build_sd3(with(sd3(), "transformer_blocks.0.attn.norm_q.bias", {16})), ErrorCode::kUnsupported,
                 "layer norms");
}

TEST(Sd3Errors, HeadsThatDoNotDivideTheWidth) {
  io::ModelPart part = sd3();
  part.config["attention_head_dim"] = 20;
  expect_refusal(build_sd3(part), ErrorCode::kMismatch, "a width of 48 cannot be cut into heads of 20");
  part.config["attention_head_dim"] = 0;
  expect_refusal(build_sd3(part), ErrorCode::kMismatch, "heads of 0");
}

TEST(Sd3Errors, TheLastBlockIsMissing) {
  expect_refusal(build_sd3(without(sd3(), "transformer_blocks.2.")), ErrorCode::kMismatch, "are blocks missing");
}

TEST(Sd3Errors, PositionsThatAreNoSquare) {
  expect_refusal(build_sd3(with(sd3(), "pos_embed.pos_embed", {1, 143, 48})), ErrorCode::kMismatch, "143 positions");
}

TEST(Sd3Errors, FusedWeightOfAnotherHeight) {
  io::ModelPart part = open_denoiser("tiny-sd35/tiny-sd35-denoiser.safetensors");
  part = with(part, "joint_blocks.0.x_block.attn.qkv.weight", {143, 48});
  expect_refusal(build_sd3(part), ErrorCode::kMismatch,
                 "tensor joint_blocks.0.x_block.attn.qkv.weight: expected shape [48, 48], found [143, 48]");
}

TEST(Sd3Errors, NoTextEncoderAtAll) {
  io::ModelPaths paths;
  const std::filesystem::path folder = std::filesystem::path(VENEER_SOURCE_DIR) / "tests/data/tiny-sd3";
  paths.denoiser = folder / "transformer";
  paths.vae = folder / "vae";
  const auto files = io::open_model_files(paths);
  ASSERT_TRUE(files) << files.error().message;
  const auto model = build_model(*files);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kBadFile);
  EXPECT_NE(model.error().message.find("give at least one of --clip_l, --clip_g, --t5xxl"), std::string::npos)
      << model.error().message;
}

TEST(Sd3, TellsItsSizes) {
  const auto built = build_sd3(sd3());
  ASSERT_TRUE(built) << built.error().message;
  const Denoiser& denoiser = **built;
  EXPECT_EQ(denoiser.latent_channels(), 16);
  EXPECT_EQ(denoiser.context_width(), 64);
  EXPECT_EQ(denoiser.vector_width(), 48);
  EXPECT_EQ(denoiser.size_multiple(), 2);
  EXPECT_EQ(denoiser.largest_side(), 24);
  EXPECT_FALSE(denoiser.takes_guidance());
}

TEST(FluxErrors, InputsOfOtherKinds) {
  expect_refusal(build_flux(with(flux(), "x_embedder.weight", {64, 384})), ErrorCode::kUnsupported, "a mask (Fill)");
  expect_refusal(build_flux(with(flux(), "x_embedder.weight", {64, 128})), ErrorCode::kUnsupported, "a control image");
  expect_refusal(build_flux(with(flux(), "x_embedder.weight", {64, 100})), ErrorCode::kUnsupported,
                 "takes 100 numbers");
}

TEST(FluxErrors, HeadsThatTheRotationCannotCut) {
  expect_refusal(build_flux(with(flux(), "transformer_blocks.0.attn.norm_q.weight", {16})), ErrorCode::kMismatch,
                 "heads of 16");
}

TEST(FluxErrors, MissingBlocks) {
  expect_refusal(build_flux(without(flux(), "single_transformer_blocks.0.")), ErrorCode::kBadFile,
                 "has no single_transformer_blocks.0.proj_mlp.weight, but later blocks");
  expect_refusal(build_flux(without(flux(), "single_transformer_blocks.")), ErrorCode::kBadFile,
                 "has no single_transformer_blocks.0.proj_mlp.weight: the file is incomplete");
}

TEST(FluxErrors, MissingNorm) {
  expect_refusal(build_flux(without(flux(), "single_transformer_blocks.1.attn.norm_q")), ErrorCode::kBadFile,
                 "has no tensor single_transformer_blocks.1.attn.norm_q.weight");
}

TEST(Sd3Errors, OutputsThatAreNoPatches) {
  io::ModelPart part = with(sd3(), "proj_out.weight", {65, 48});
  expect_refusal(build_sd3(with(part, "proj_out.bias", {65})), ErrorCode::kMismatch, "64 numbers in and 65 out");
}

TEST(FluxErrors, JointBlockWithoutItsText) {
  expect_refusal(build_flux(without(flux(), "transformer_blocks.0.attn.to_add_out")), ErrorCode::kMismatch,
                 "norm1_context.linear");
}

// The network's answer is the same whether weights are stored, and cut, in that format, or were decoded before. Rows of
// 64 are whole blocks of Q8_0, which are cut as bytes, and quarters of blocks of Q4_K, which are not.
TEST(FluxWeights, FusedInAnyFormat) {
  const io::ModelPart stored = original_flux();
  for (const char* name : {"q8_0", "q4_K"}) {
    io::WeightStore::Entries encoded, decoded;
    for (const auto& [key, entry] : stored.weights.entries()) {
      const std::vector<float> values = entry.weight.decode_all();
      const Shape& shape = entry.weight.shape;
      const bool fits = shape.elements() % 256 == 0 && shape.rank() == 2;
      const codec::Weight weight =
          codec::weight_from(values, shape, *codec::find_codec(fits ? name : "f32"), entry.weight.name);
      decoded.emplace(key,
                      io::Entry{codec::weight_from(weight.decode_all(), shape, *codec::find_codec("f32"), key), ""});
      encoded.emplace(key, io::Entry{weight, ""});
    }
    std::vector<float> latent(8 * 8 * 16), text(4 * 64), vector(32);
    for (size_t i = 0; i < latent.size(); ++i) latent[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 40;
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<float>(static_cast<int>(i * 13 % 31) - 15) / 20;
    const Denoiser::Input input{Tensor::from(latent, {1, 8, 8, 16}), 500, Tensor::from(text, {1, 4, 64}), {},
                                Tensor::from(vector, {1, 32}),       3.5f};
    test::Place place("ref");
    const auto run = [&](io::WeightStore::Entries entries) {
      const auto built = build_flux({io::WeightStore(std::move(entries), {}, {}), {}, "test"});
      EXPECT_TRUE(built) << built.error().message;
      return place.run_one([&](nn::Context& context) { return (*built)->forward(context, input); });
    };
    const Tensor a = run(encoded), b = run(decoded);
    EXPECT_TRUE(std::ranges::equal(a.values(), b.values())) << name;
    EXPECT_EQ(first_non_finite(a.values()), -1);
  }
}

// Texts of tiny-sd3's widths: encoders of 16 and 32, T5 of 64.
EncodedText text_of(int64_t width, float value) {
  const auto filled = [&](const Shape& shape) {
    Tensor tensor = Tensor::zeros(shape);
    std::ranges::fill(tensor.values(), value);
    return tensor;
  };
  return {filled({1, 77, width}), filled({1, width}), {}};
}

class Sd3Text : public testing::Test {
 protected:
  void SetUp() override {
    auto built = build_sd3(sd3());
    ASSERT_TRUE(built) << built.error().message;
    denoiser_ = *std::move(built);
  }
  Condition join(const std::vector<EncodedText>& texts) const {
    return kSd3Text.join({.texts = texts, .denoiser = *denoiser_});
  }
  std::unique_ptr<Denoiser> denoiser_;
};

TEST_F(Sd3Text, JoinsThreeEncoders) {
  const Condition joined = join({text_of(16, 1), text_of(32, 2), text_of(64, 3)});
  ASSERT_EQ(joined.states.shape, Shape({1, 154, 64}));
  ASSERT_EQ(joined.vector.shape, Shape({1, 48}));
  const float* first = joined.states.f32();
  EXPECT_EQ(std::vector<float>({first[0], first[15], first[16], first[47], first[48], first[77 * 64]}),
            std::vector<float>({1, 1, 2, 2, 0, 3}));
  EXPECT_EQ(joined.vector.f32()[15], 1);
  EXPECT_EQ(joined.vector.f32()[16], 2);
}

TEST_F(Sd3Text, ZerosStandForWhatIsMissing) {
  const Condition without_t5 = join({text_of(16, 1), text_of(32, 2), {}});
  EXPECT_EQ(without_t5.states.shape, Shape({1, 154, 64}));
  EXPECT_EQ(without_t5.states.f32()[77 * 64], 0);

  const Condition without_l = join({{}, text_of(32, 2), text_of(64, 3)});
  ASSERT_EQ(without_l.vector.shape, Shape({1, 48}));
  EXPECT_EQ(without_l.vector.f32()[15], 0);
  EXPECT_EQ(without_l.vector.f32()[16], 2);
  EXPECT_EQ(without_l.states.f32()[15], 0);
  EXPECT_EQ(without_l.states.f32()[16], 2);

  const Condition without_g = join({text_of(16, 1), {}, text_of(64, 3)});
  ASSERT_EQ(without_g.vector.shape, Shape({1, 48}));
  EXPECT_EQ(without_g.vector.f32()[0], 1);
  EXPECT_EQ(without_g.vector.f32()[16], 0);

  const Condition only_t5 = join({{}, {}, text_of(64, 3)});
  EXPECT_EQ(only_t5.states.shape, Shape({1, 154, 64}));
  EXPECT_EQ(only_t5.vector.shape, Shape({1, 48}));
}

}  // namespace
}  // namespace veneer::model
