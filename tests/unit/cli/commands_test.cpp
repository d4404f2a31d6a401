// Which command a command line means, and what is refused before any work begins.
#include "commands.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "core/format.h"
#include "data_dir.h"
#include "image_options.h"
#include "interrupt.h"
#include "latents.h"
#include "prepare.h"

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

Status run(const std::vector<std::string>& args) {
  Console console(stderr, false, false);
  return run_command_line(args, console);
}

struct Bad {
  std::vector<std::string> args;
  ErrorCode code;
  const char* message;  // how it starts
};

TEST(Commands, RefuseBeforeAnyWork) {
  const Bad kBad[] = {
      {{"drow"},
       ErrorCode::kUsage,
       "command \"drow\": is not known; it is one of image, convert, inspect, adapters, bench, metadata"},
      {{"convert"}, ErrorCode::kUsage, "convert: expected a model after -m"},
      {{"-M", "convert", "-m", "missing.safetensors"}, ErrorCode::kNotFound, "missing.safetensors: "},
      {{"convert", "-m", "x", "-o", "y.bin"}, ErrorCode::kUsage, "--output y.bin: expected a name with"},
      {{"convert", "-m", "x", "--type", "q9"}, ErrorCode::kUsage, "--type: expected one of f32, "},
      {{"convert", "-m", "x", "--tensor-type-rules", "attn"}, ErrorCode::kUsage, "--tensor-type-rules: expected"},
      {{"upscale", "all"}, ErrorCode::kUnsupported, "command upscale: "},
      {{"-M"}, ErrorCode::kUsage, "--mode: expected a value after it"},
      {{"-M", "draw"}, ErrorCode::kUsage, "--mode: \"draw\": is not known"},
      {{"-p", "x", "--mode", "upscale"}, ErrorCode::kUnsupported, "--mode: upscale: "},
      {{"-M", "vid_gen"}, ErrorCode::kUnsupported, "--mode: vid_gen: "},
      {{"-M", "img_gen", "--stepz", "1"}, ErrorCode::kUsage, "--stepz: is not known"},
      {{"-M", "metadata"}, ErrorCode::kUsage, "metadata: expected --image FILE"},
      {{"-M", "metadata", "--image", "missing.png"}, ErrorCode::kNotFound, "missing.png: "},
      {{"metadata", "--metadata-all", "--image", "x.png"}, ErrorCode::kUnsupported, "--metadata-all: "},
      {{"bench", "--steps", "0"}, ErrorCode::kUsage, "--steps: expected 1 or more"},
      {{"inspect"}, ErrorCode::kUsage, "inspect: expected a file or folder"},
      {{"inspect", "missing.safetensors"}, ErrorCode::kNotFound, "missing.safetensors: "},
      {{"inspect", "--steps", "3"}, ErrorCode::kUsage, "--steps: is not known"},
      {{"version", "x"}, ErrorCode::kUsage, "argument \"x\": is not expected here"},
      {{"--steps", "0"}, ErrorCode::kUsage, "--steps: "},
  };
  for (const Bad& bad : kBad) {
    const Status status = run(bad.args);
    ASSERT_FALSE(status) << bad.message;
    EXPECT_EQ(status.error().code, bad.code) << status.error().message;
    EXPECT_EQ(status.error().message.substr(0, std::strlen(bad.message)), bad.message);
  }
}

TEST(Commands, RefuseDamagedFilesInOneSentence) {
  for (const char* name : {"header_len_zero", "header_longer_than_file", "file_of_7_bytes", "begin_after_end",
                           "duplicate_key", "negative_offset", "not_json", "not_utf8"}) {
    const Status status =
        run({"inspect", concat(VENEER_SOURCE_DIR, "/tests/data/bad/safetensors/", name, ".safetensors")});
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().code, ErrorCode::kBadFile) << status.error().message;
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos) << status.error().message;
  }
}

class Prepare : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "veneer_prepare";
    fs::create_directories(folder_);
    options_.output = (folder_ / "out.png").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const char* name, std::string_view text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  Status prepare_now() {
    lines_.clear();
    return prepare(options_, console_, Log([this](LogLevel, const std::string& line) { lines_.push_back(line); }));
  }
  // The error of preparing, as "code: message".
  std::string refusal() {
    const Status status = prepare_now();
    return status ? "none" : std::string(name_of(status.error().code)) + ": " + status.error().message;
  }

  fs::path folder_;
  ImageOptions options_;
  ConsoleOptions console_;
  std::vector<std::string> lines_;
};

TEST_F(Prepare, ReadsPromptFilesWithoutTheirLastLineEnd) {
  options_.prompt_file = file("p.txt", "a fox\nin snow\r\n\n");
  ASSERT_TRUE(prepare_now());
  EXPECT_EQ(options_.request.prompt, "a fox\nin snow");
  EXPECT_EQ(refusal(), "usage: --prompt-file: excludes --prompt; give one of them");
}

TEST_F(Prepare, NamesTheOptionOfAFileThatCannotBeRead) {
  options_.init_image = folder_ / "missing.png";
  EXPECT_EQ(refusal().find("not_found: --init-img: "), 0u) << refusal();
  options_.init_image = file("text.png", "no picture");
  EXPECT_EQ(refusal().find("bad_file: --init-img: "), 0u) << refusal();
  options_.init_image.clear();
  options_.init_latents = file("text.safetensors", "no tensors at all");
  EXPECT_EQ(refusal().find("bad_file: --init-latents: "), 0u) << refusal();
}

TEST_F(Prepare, FindsPlacesThatCannotBeWritten) {
  const fs::path in_a_file = file("file", "") / "out.png";
  options_.output = in_a_file.string();
  EXPECT_EQ(refusal().find("io: --output: "), 0u) << refusal();
  options_.output = "-";
  EXPECT_EQ(refusal(), "none");
  options_.save_latents = in_a_file;
  EXPECT_EQ(refusal().find("io: --save-latents: "), 0u) << refusal();
  options_.save_latents.clear();
  options_.preview = in_a_file;
  EXPECT_EQ(refusal(), "none") << "no previews were asked for";
  options_.request.preview = pipeline::PreviewMode::kProjection;
  EXPECT_EQ(refusal().find("io: --preview-path: "), 0u) << refusal();
}

TEST_F(Prepare, KeepsStdoutForOneResult) {
  options_.output = "-";
  options_.request.batch_count = 2;
  EXPECT_EQ(refusal().find("usage: --output: "), 0u) << refusal();
  options_.request.batch_count = 1;
  console_.json = true;
  EXPECT_EQ(refusal().find("usage: --output: "), 0u) << refusal();
}

TEST_F(Prepare, TakesAdapterTagsOutOfThePromptAndPutsThemBehindTheOptions) {
  options_.request.adapters.adapters.emplace_back().name = "first.safetensors";
  options_.request.prompt = "a fox <lora:style:0.5>";
  options_.request.negative_prompt = "fog <lora:other:1>";
  ASSERT_TRUE(prepare_now());
  const pipeline::Request& request = options_.request;
  EXPECT_EQ(request.prompt, "a fox ");
  EXPECT_EQ(request.written_prompt, "a fox <lora:style:0.5>");
  EXPECT_EQ(request.negative_prompt, "fog ");
  ASSERT_EQ(request.adapters.adapters.size(), 2u);
  EXPECT_EQ(request.adapters.adapters[1].name, "style");
  EXPECT_EQ(request.adapters.adapters[1].denoiser_scale, 0.5);
  EXPECT_NE(lines_.front().find("<lora:other:1>"), std::string::npos) << "a tag in the negative prompt has no effect";
}

TEST_F(Prepare, SaysWhichModelDrawsWhenNoneWasNamed) {
  ASSERT_TRUE(prepare_now());
  EXPECT_EQ(options_.session.paths.model, embedded_model(options_.session.data_dir));
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("-m FILE"), std::string::npos);
  options_.session.paths.model = "fox.safetensors";
  options_.no_effect = {"--guidance: has no effect"};
  ASSERT_TRUE(prepare_now());
  EXPECT_EQ(options_.session.paths.model, "fox.safetensors");
  EXPECT_EQ(lines_, options_.no_effect);
}

TEST_F(Prepare, LatentsAreReadBackAsSaved) {
  pipeline::Picture picture;
  picture.latents = Tensor::from(std::vector<float>{1, -2, 0.5f, 3, 4, 5, 6, 7}, {1, 2, 2, 2});
  ASSERT_TRUE(save_latents(folder_ / "one.safetensors", {&picture, 1}));
  const auto read = read_latents(folder_ / "one.safetensors");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->shape, picture.latents.shape);
  EXPECT_TRUE(std::ranges::equal(read->values(), picture.latents.values()));

  const std::vector<pipeline::Picture> batch = {picture, picture};
  ASSERT_TRUE(save_latents(folder_ / "two.safetensors", batch));
  const auto two = read_latents(folder_ / "two.safetensors");
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().message.find("found [2, 2, 2, 2]"), std::string::npos) << two.error().message;

  picture.latents.values()[3] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(save_latents(folder_ / "infinite.safetensors", {&picture, 1}));
  const auto infinite = read_latents(folder_ / "infinite.safetensors");
  ASSERT_FALSE(infinite);
  EXPECT_NE(infinite.error().message.find("value 3 of 8"), std::string::npos) << infinite.error().message;
}

TEST(DataDir, IsTheVariableElseInstalledElseAsBuilt) {
  const fs::path root = fs::path(testing::TempDir()) / "veneer_data_dir";
  fs::create_directories(root / "bin" / "data");
  EXPECT_EQ(find_data_dir("/else", root / "bin"), "/else");
  EXPECT_EQ(find_data_dir(nullptr, root / "bin"), root / "bin" / "data");
  EXPECT_EQ(find_data_dir("", root / "bin"), root / "bin" / "data");
  EXPECT_EQ(find_data_dir(nullptr, root / "none"), root / "share" / "veneer");
  fs::create_directories(root / "share" / "veneer");
  EXPECT_EQ(find_data_dir(nullptr, root / "bin"), root / "share" / "veneer");
  EXPECT_EQ(model_named("emoji-v1", root), root / "models" / "emoji-v1");
  EXPECT_EQ(model_named("./emoji-v1", root), "./emoji-v1");
  fs::remove_all(root);
}

TEST(Interrupt, TheFirstStopsTheRunTheSecondTheProgram) {
  pipeline::CancelFlag flag;
  const InterruptGuard guard(flag);
  EXPECT_EQ(flag.get(), pipeline::CancelMode::kNone);
  std::raise(SIGINT);
  EXPECT_EQ(flag.get(), pipeline::CancelMode::kAll);
  EXPECT_EXIT(std::raise(SIGINT), testing::ExitedWithCode(kExitCancelled), "");
}

TEST(Interrupt, EndsWithItsGuard) {
  pipeline::CancelFlag flag;
  { const InterruptGuard guard(flag); }
  EXPECT_EXIT(std::raise(SIGINT), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace veneer::cli
