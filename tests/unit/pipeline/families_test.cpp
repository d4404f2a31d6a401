// Sessions of other families than the first: what they refuse and how, what they make of prompts, and how a model that
// does not say what it predicts is asked.
#include <gtest/gtest.h>

#include "core/format.h"
#include "io/container.h"
#include "pipeline/session.h"
#include "tests/support/golden.h"
#include "tests/unit/io/test_files.h"

namespace veneer::pipeline {
namespace {

namespace fs = std::filesystem;

Result<std::unique_ptr<Session>> open(const io::ModelPaths& paths, const Log& log = Log()) {
  SessionOptions options;
  options.paths = paths;
  options.threads = 2;
  return Session::open(options, log);
}

fs::path copied(const io::ScratchFolder& scratch, const std::string& model) {
  fs::copy(test::data_path(model), scratch / model, fs::copy_options::recursive);
  return scratch / model;
}

class Sdxl : public testing::Test {
 protected:
  void SetUp() override {
    io::ModelPaths paths;
    paths.model = test::data_path("tiny-sdxl");
    auto session = open(paths);
    ASSERT_TRUE(session) << session.error().message;
    session_ = *std::move(session);
  }
  static Request request() {
    Request request;
    request.prompt = "a red house";
    request.width = request.height = 32;
    request.steps = 3;
    return request;
  }
  std::vector<uint8_t> draw(const Request& request) {
    const auto result = session_->generate(request, {}, CancelFlag());
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->pictures.at(0).image.pixels : std::vector<uint8_t>();
  }
  std::unique_ptr<Session> session_;
};

TEST_F(Sdxl, PromptsOfSeveralChunksGoThroughBothEncoders) {
  Request order = request();
  const auto first = draw(order);
  for (int i = 0; i < 90; ++i) order.negative_prompt += "sea ";
  EXPECT_NE(draw(order), first);
  order.prompt = "a BREAK b BREAK c";
  draw(order);
}

TEST_F(Sdxl, OnlyAnEmptyNegativePromptIsNothing) {
  Request order = request();
  const auto empty = draw(order);
  order.negative_prompt = " ";
  EXPECT_NE(draw(order), empty);
}

TEST_F(Sdxl, ThePictureIsToldItsSize) {
  Request order = request();
  order.width = 40;
  EXPECT_NE(draw(order), draw(request()));
  order.width = 36;
  EXPECT_EQ(draw(order).size(), size_t{36 * 32 * 3});
}

TEST_F(Sdxl, ClipSkipCountsFromTheEndOfBothEncoders) {
  Request order = request();
  const auto usual = draw(order);
  order.clip_skip = 2;
  EXPECT_EQ(draw(order), usual);
  order.clip_skip = 1;
  EXPECT_NE(draw(order), usual);
  order.clip_skip = 3;  // the first encoder has two layers
  const auto refused = session_->generate(order, {}, CancelFlag());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error().message, "--clip-skip: must be at most 2 for this model, found 3"))
      << refused.error().message;
}

TEST_F(Sdxl, ThePlanCountsAllEncoders) {
  const auto result = session_->generate(request(), {}, CancelFlag());
  ASSERT_TRUE(result);
  for (const char* part : {"denoiser", "text_encoder", "text_encoder_2", "vae"})
    EXPECT_GT(result->report.plan["weights"].value(part, 0), 0) << part;
}

TEST(Families, AMissingEncoderIsNamedWithItsOption) {
  for (const auto& [part, option] : {std::pair("text_encoder", "--clip_l"), {"text_encoder_2", "--clip_g"}}) {
    const io::ScratchFolder scratch;
    io::ModelPaths paths;
    paths.model = copied(scratch, "tiny-sdxl");
    fs::remove_all(paths.model / part);
    const auto session = open(paths);
    ASSERT_FALSE(session) << part;
    EXPECT_EQ(session.error().code, ErrorCode::kBadFile);
    EXPECT_TRUE(contains(session.error().message, option)) << session.error().message;
  }
}

TEST(Families, AnEncoderOfAnotherFamilyIsRefusedWithBothWidths) {
  io::ModelPaths paths;
  paths.model = test::data_path("tiny-sdxl");
  paths.clip_l = fs::path(VENEER_SOURCE_DIR) / "models/emoji-v1/text_encoder";
  const auto session = open(paths);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kMismatch);
  EXPECT_TRUE(contains(session.error().message, "give states 192 wide, the denoiser expects 64"))
      << session.error().message;
}

// The last layer's bias pushes the answer to the probe to where noise or a velocity would be.
TEST(Families, AModelThatDoesNotSayWhatItPredictsIsAsked) {
  for (const auto& [bias, expected] : {std::pair(0.5f, "eps"), {-2.0f, "v"}}) {
    const io::ScratchFolder scratch;
    io::ModelPaths paths;
    paths.model = copied(scratch, "tiny-sd2");
    fs::remove_all(paths.model / "scheduler");
    const auto store = io::open_weights(paths.model / "tiny-sd2-ldm.safetensors");
    ASSERT_TRUE(store) << store.error().message;
    const io::WeightStore unet = store->under("model.diffusion_model.");
    std::vector<io::NamedValues> tensors;
    for (const auto& [name, entry] : unet.entries()) {
      tensors.push_back({name, entry.weight.decode_all(), entry.weight.shape});
      if (name == "out.2.weight") std::ranges::fill(tensors.back().values, 0.0f);
      if (name == "out.2.bias") std::ranges::fill(tensors.back().values, bias);
    }
    paths.denoiser = io::write_f32(scratch / "unet.safetensors", tensors);
    paths.vae = test::data_path("tiny-sd1/vae");
    std::string told;
    Log log([&](LogLevel, std::string_view line) { told.append(line).append("\n"); });
    const auto session = open(paths, log);
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_EQ((*session)->describe()["prediction"], expected);
    EXPECT_TRUE(contains(told, concat("prediction: ", expected, " (the network's answer to a probe, "))) << told;
  }
}

TEST(Families, LatentsWithStatisticsOfTheirOwnAreRefused) {
  const io::ScratchFolder scratch;
  io::ModelPaths paths;
  paths.model = test::data_path("tiny-sd2");
  const auto store = io::open_weights(paths.model / "tiny-sd2-ldm.safetensors");
  ASSERT_TRUE(store) << store.error().message;
  const io::WeightStore unet = store->under("model.diffusion_model.");
  std::vector<io::NamedValues> tensors{{"edm_mean", {1, 2, 3, 4}, {1, 4, 1, 1}}};
  for (const auto& [name, entry] : unet.entries())
    tensors.push_back({name, entry.weight.decode_all(), entry.weight.shape});
  paths.denoiser = io::write_f32(scratch / "unet.safetensors", tensors);
  paths.vae = test::data_path("tiny-sd1/vae");
  const auto session = open(paths);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(contains(session.error().message, "edm_mean")) << session.error().message;
}

}  // namespace
}  // namespace veneer::pipeline
