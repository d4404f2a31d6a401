// A session as its users see it: same orders give the same bytes, batches are single pictures, masks protect,
// cancelling leaves everything as it was, and bad orders are refused before any work.
#include "pipeline/session.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cmath>
#include <cstring>

#include <fstream>
#include <functional>
#include <map>

#include "tests/support/golden.h"

namespace veneer::pipeline {
namespace {

std::unique_ptr<Session> open_tiny(SessionOptions options = {}) {
  options.paths.model = test::data_path("tiny-sd1");
  options.threads = 2;
  auto session = Session::open(options, Log());
  EXPECT_TRUE(session) << session.error().message;
  return session ? *std::move(session) : nullptr;
}

Request small_request() {
  Request request;
  request.prompt = "a photo of a cat";
  request.width = request.height = 32;
  request.steps = 4;
  request.seed = 5;
  return request;
}

RunResult draw(Session& session, const Request& request) {
  auto result = session.generate(request, {}, CancelFlag());
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : RunResult();
}

io::Image picture(Session& session, const Request& request) {
  RunResult result = draw(session, request);
  return result.pictures.empty() ? io::Image() : result.pictures[0].image;
}

Error refusal(Session& session, const Request& request) {
  const auto result = session.generate(request, {}, CancelFlag());
  EXPECT_FALSE(result);
  return result ? Error() : result.error();
}

TEST(Session, TheSameOrderGivesTheSameBytes) {
  const auto session = open_tiny(), other = open_tiny();
  const io::Image first = picture(*session, small_request());
  Request different = small_request();
  different.prompt = "grass";
  EXPECT_NE(picture(*session, different).pixels, first.pixels);
  EXPECT_EQ(picture(*session, small_request()).pixels, first.pixels);
  EXPECT_EQ(picture(*other, small_request()).pixels, first.pixels);
}

TEST(Session, WhatTheCacheHoldsChangesNothing) {
  SessionOptions without;
  without.panel_cache_bytes = 0;
  EXPECT_EQ(picture(*open_tiny(without), small_request()).pixels, picture(*open_tiny(), small_request()).pixels);
}

TEST(Session, ABatchIsItsSinglePictures) {
  const auto session = open_tiny();
  Request batch = small_request();
  batch.batch_count = 3;
  const RunResult together = draw(*session, batch);
  ASSERT_EQ(together.pictures.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    Request single = small_request();
    single.seed += i;
    EXPECT_EQ(together.pictures[static_cast<size_t>(i)].seed, single.seed);
    EXPECT_EQ(picture(*session, single).pixels, together.pictures[static_cast<size_t>(i)].image.pixels) << i;
  }
}

TEST(Session, LongPromptsAndBreaksGoTogetherWithShortOnes) {
  const auto session = open_tiny();
  Request request = small_request();
  for (int i = 0; i < 90; ++i) request.negative_prompt += "cat ";
  draw(*session, request);
  request.prompt = "a BREAK b BREAK c";
  draw(*session, request);
}

TEST(Session, AMaskProtectsWhatItDoesNotCover) {
  const auto session = open_tiny();
  Request request = small_request();
  const io::Image start = picture(*session, request);
  request.init_image = start;
  request.strength = 0.9;
  request.mask = io::Image::blank(32, 32, 1);
  for (int y = 0; y < 32; ++y) std::fill_n(request.mask->row(y), 16, uint8_t{255});  // the left half
  const io::Image painted = picture(*session, request);
  bool left_changed = false;
  for (int y = 0; y < 32; ++y) {
    left_changed |= !std::equal(painted.row(y), painted.row(y) + 48, start.row(y));
    EXPECT_TRUE(std::equal(painted.row(y) + 48, painted.row(y) + 96, start.row(y) + 48)) << y;
  }
  EXPECT_TRUE(left_changed);
}

// With a trained model, whose autoencoder gives a picture back: little strength stays near it, full strength forgets
// it.
TEST(Session, StrengthIsHowFarAPictureIsLeft) {
  SessionOptions options;
  options.paths.model = std::filesystem::path(VENEER_SOURCE_DIR) / "models/emoji-v1";
  options.threads = 2;
  const auto session = Session::open(options, Log());
  ASSERT_TRUE(session) << session.error().message;
  Request request;
  request.prompt = "red apple";
  request.steps = 10;
  request.init_image = picture(**session, request);
  request.prompt = "blue heart";
  request.seed = 99;
  const auto distance = [&](double strength) {
    request.strength = strength;
    const io::Image result = picture(**session, request);
    double sum = 0;
    for (size_t i = 0; i < result.pixels.size(); ++i) sum += std::abs(result.pixels[i] - request.init_image->pixels[i]);
    return sum / static_cast<double>(result.pixels.size());
  };
  const double near = distance(0.0), far = distance(1.0);
  EXPECT_GT(far, 2 * near) << near;
}

TEST(Session, ProgressNeverGoesBackAndEndsAtItsTotal) {
  const auto session = open_tiny();
  Callbacks callbacks;
  std::map<Phase, std::pair<int, int>> last;
  callbacks.progress = [&](Phase phase, int step, int steps, double) {
    if (last.contains(phase)) {
      EXPECT_GE(step, last[phase].first);
    }
    last[phase] = {step, steps};
  };
  ASSERT_TRUE(session->generate(small_request(), callbacks, CancelFlag()));
  for (const Phase phase : {Phase::kText, Phase::kSample, Phase::kDecode})
    EXPECT_EQ(last[phase].first, last[phase].second) << name_of(phase);
}

TEST(Session, CancellingStopsWithinAStepAndLeavesNoTrace) {
  const auto session = open_tiny();
  const io::Image before = picture(*session, small_request());
  Request longer = small_request();
  longer.steps = 50;
  CancelFlag cancel;
  int last = 0;
  Callbacks callbacks;
  callbacks.progress = [&](Phase phase, int step, int, double) {
    if (phase != Phase::kSample) return;
    last = step;
    if (step == 2) cancel.set(CancelMode::kAll);
  };
  const auto result = session->generate(longer, callbacks, cancel);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_LE(last, 3);
  EXPECT_EQ(picture(*session, small_request()).pixels, before.pixels);
}

TEST(Session, CancellingNewPicturesKeepsTheOneInWork) {
  const auto session = open_tiny();
  Request batch = small_request();
  batch.batch_count = 4;
  CancelFlag cancel;
  Callbacks callbacks;
  callbacks.progress = [&](Phase phase, int step, int, double) {
    if (phase == Phase::kSample && step == 1) cancel.set(CancelMode::kNewPictures);
  };
  const auto result = session->generate(batch, callbacks, cancel);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->pictures.size(), 1u);
}

TEST(Session, RefusesWhatItCannotDraw) {
  const auto session = open_tiny();
  const auto refused = [&](const auto& change) {
    Request request = small_request();
    change(request);
    return refusal(*session, request);
  };
  const Error size = refused([](Request& r) { r.width = 35; });
  EXPECT_EQ(size.code, ErrorCode::kUsage);
  EXPECT_NE(size.message.find("the nearest legal size is 36x32"), std::string::npos) << size.message;
  EXPECT_NE(refused([](Request& r) { r.width = 1; }).message.find("16x32"), std::string::npos);
  EXPECT_NE(refused([](Request& r) { r.height = 0; }).message.find("32x16"), std::string::npos);
  EXPECT_EQ(refused([](Request& r) { r.width = 1 << 30; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.steps = 0; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.cfg_scale = -1; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.cfg_scale = NAN; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.batch_count = 0; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.clip_skip = 3; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.t5_length = 5000; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.sigmas = {1.0, 2.0}; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.prompt = "\xF0\x9F"; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.mask = io::Image::blank(32, 32, 1); }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.init_latents = Tensor::zeros({1, 4, 8, 8}); }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.preview = PreviewMode::kTiny; }).code, ErrorCode::kUsage);
  EXPECT_EQ(refused([](Request& r) { r.schedule = *sample::schedule_named("gits"); }).code, ErrorCode::kUnsupported);
  draw(*session, small_request());
}

TEST(Session, OneStepIsEnough) {
  Request request = small_request();
  request.steps = 1;
  EXPECT_EQ(draw(*open_tiny(), request).pictures.size(), 1u);
}

// A sampler's own generator is used only when it is of another kind.
TEST(Session, GeneratorsOfNoiseAndSampler) {
  const auto session = open_tiny();
  const auto with = [&](sample::GeneratorKind rng, std::optional<sample::GeneratorKind> sampler) {
    Request request = small_request();
    request.rng = rng;
    request.sampler_rng = sampler;
    return picture(*session, request).pixels;
  };
  using enum sample::GeneratorKind;
  EXPECT_EQ(with(kCuda, std::nullopt), with(kCuda, kCuda));
  EXPECT_NE(with(kCuda, std::nullopt), with(kCpu, std::nullopt));
  EXPECT_NE(with(kCpu, kCuda), with(kCpu, std::nullopt));
}

class BrokenModel : public testing::Test {
 protected:
  // The tiny model with one file changed by `change`.
  std::filesystem::path copy_model(const std::string& file, const std::function<void(std::vector<char>&)>& change) {
    folder_ = std::filesystem::temp_directory_path() / concat("veneer-broken-", ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(test::data_path("tiny-sd1"), folder_, std::filesystem::copy_options::recursive);
    std::ifstream in(folder_ / file, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    change(bytes);
    std::ofstream(folder_ / file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return folder_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Result<std::unique_ptr<Session>> open(const std::filesystem::path& folder) {
    SessionOptions options;
    options.paths.model = folder;
    return Session::open(options, Log());
  }
  std::filesystem::path folder_;
};

// The first number of the first tensor, in half precision, behind the header.
void begin_with_nan(std::vector<char>& bytes) {
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes[8 + header] = 0;
  bytes[8 + header + 1] = 0x7E;
}

TEST_F(BrokenModel, NoBlackPictureFromWeightsThatAreNotNumbers) {
  for (const char* file : {"unet/diffusion_pytorch_model.safetensors", "vae/diffusion_pytorch_model.safetensors",
                           "text_encoder/model.safetensors"}) {
    const auto session = open(copy_model(file, begin_with_nan));
    ASSERT_TRUE(session) << session.error().message;
    const Error error = refusal(**session, small_request());
    EXPECT_EQ(error.code, ErrorCode::kBadFile) << file;
    EXPECT_NE(error.message.find("not finite, as has its tensor "), std::string::npos) << error.message;
  }
}

TEST_F(BrokenModel, AMissingPartIsNamedWithItsOption) {
  for (const auto& [part, option] :
       {std::pair{"vae", "--vae"}, {"text_encoder", "--clip_l"}, {"unet", "--diffusion-model"}}) {
    const auto folder = copy_model("model_index.json", [](std::vector<char>&) {});
    std::filesystem::remove_all(folder / part);
    const auto session = open(folder);
    ASSERT_FALSE(session) << part;
    EXPECT_NE(session.error().message.find(option), std::string::npos) << session.error().message;
  }
}

TEST_F(BrokenModel, AFileCutAfterOpeningIsRefusedBeforeItIsRead) {
  const auto folder = copy_model("model_index.json", [](std::vector<char>&) {});
  const auto session = open(folder);
  ASSERT_TRUE(session);
  std::filesystem::resize_file(folder / "unet/diffusion_pytorch_model.safetensors", 200000);
  EXPECT_EQ(refusal(**session, small_request()).code, ErrorCode::kBadFile);
}

}  // namespace
}  // namespace veneer::pipeline
