// What commands print on stdout, and the pictures they write.
#include "results.h"

#include <gtest/gtest.h>

#include "commands.h"
#include "core/files.h"
#include "picture_writer.h"

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

// stdout of a command that is expected to succeed.
std::string output_of(const std::vector<std::string>& args) {
  Console console(stderr, false, false);
  testing::internal::CaptureStdout();
  const Status status = run_command_line(args, console);
  std::string out = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(status) << status.error().message;
  return out;
}

Json json_of(const std::vector<std::string>& args) {
  auto json = parse_json(output_of(args), "stdout");
  EXPECT_TRUE(json) << json.error().message;
  return json ? *std::move(json) : Json();
}

TEST(Version, NamesTheProgram) {
  EXPECT_EQ(output_of({"--version"}).find("veneer "), 0u);
  EXPECT_EQ(output_of({"version"}), output_of({"--version"}));
  const Json json = json_of({"--version", "--json"});
  EXPECT_EQ(json["name"], "veneer");
  EXPECT_GE(json["cpu"]["cores"], 1);
}

TEST(Help, IsAResult) {
  EXPECT_EQ(output_of({"--help"}).find("Usage: veneer [COMMAND] [OPTIONS]"), 0u);
  for (const Command& command : commands())
    EXPECT_NE(output_of({std::string(command.name), "-h"}).find("Usage: veneer " + std::string(command.name)),
              std::string::npos);
}

TEST(Inspect, TellsAModelFromItsFile) {
  const std::string file = VENEER_SOURCE_DIR "/tests/data/tiny-sd1/tiny-sd1-ldm.safetensors";
  const Json json = json_of({"inspect", file, "--json"});
  EXPECT_EQ(json["container"], "safetensors");
  EXPECT_EQ(json["family"], "SD 1.x");
  EXPECT_EQ(json["supported"], true);
  int64_t in_parts = 0;
  for (const Json& part : json["parts"]) in_parts += part["tensors"].get<int64_t>();
  EXPECT_EQ(in_parts + json["ignored_tensors"].get<int64_t>() +
                static_cast<int64_t>(json["unused_tensors"].size() + json["markers"].size()),
            json["tensors"]);
  const std::string table = output_of({"inspect", file});
  EXPECT_NE(table.find("SD 1.x"), std::string::npos) << table;
  EXPECT_NE(table.find("denoiser"), std::string::npos) << table;
}

TEST(Inspect, ShowsFilesThatAreNoModel) {
  const Json adapter = json_of({"inspect", VENEER_SOURCE_DIR "/models/adapters/sepia-loha.safetensors", "--json"});
  EXPECT_EQ(adapter["family"], nullptr);
  EXPECT_EQ(adapter["parts"].size(), 0u);
  EXPECT_EQ(adapter["unused_tensors"].size(), adapter["tensors"]);
  EXPECT_EQ(adapter["metadata"]["kind"], "loha");
  const std::string vae = output_of({"inspect", VENEER_SOURCE_DIR "/models/emoji-v1/vae"});
  EXPECT_NE(vae.find("no denoiser"), std::string::npos) << vae;
}

class Pictures : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "veneer_pictures";
    fs::remove_all(folder_);
    options_.output = (folder_ / "new" / "fox.png").string();
    picture_.image = io::Image::blank(8, 4, 3);
    picture_.seed = 9;
    picture_.text = {"a fox\nSteps: 1, Veneer: {\"schema\": 1}", {}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  ImageOptions options_;
  Console console_{stderr, false, false};
  pipeline::Picture picture_;
};

TEST_F(Pictures, AreWrittenWithTheirTextAndNamedOnStdout) {
  console_.options().quiet = true;
  options_.request.batch_count = 2;
  auto writer = PictureWriter::make(options_, console_);
  ASSERT_TRUE(writer);
  picture_.index = 1;
  testing::internal::CaptureStdout();
  const Status status = writer->write(picture_);
  const std::string out = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(status) << status.error().message;
  const std::string path = (folder_ / "new" / "fox_1.png").string();
  EXPECT_EQ(out, path + "\n");
  EXPECT_EQ(writer->account(), (Json::array({{{"path", path}, {"seed", 9}, {"width", 8}, {"height", 4}}})));

  const Json json = json_of({"metadata", "--image", path, "--json"});
  ASSERT_EQ(json["text"].size(), 1u);
  EXPECT_EQ(json["text"][0]["text"], picture_.text.parameters);
  EXPECT_EQ(json["parameters"]["schema"], 1);
  EXPECT_EQ(output_of({"-M", "metadata", "--image", path}), picture_.text.parameters + "\n");
  EXPECT_EQ(json_of({"metadata", "--image", path, "--metadata-format", "json"}), json);
}

TEST_F(Pictures, LeaveStdoutAloneWithJsonAndCarryNoTextWhenToldSo) {
  console_.options().json = console_.options().quiet = true;
  options_.image_metadata = false;
  auto writer = PictureWriter::make(options_, console_);
  ASSERT_TRUE(writer);
  testing::internal::CaptureStdout();
  const Status status = writer->write(picture_);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(output_of({"metadata", "-q", "--image", options_.output}), "");
}

TEST_F(Pictures, GoToStdoutWhole) {
  options_.output = "-";
  auto writer = PictureWriter::make(options_, console_);
  ASSERT_TRUE(writer);
  testing::internal::CaptureStdout();
  const Status status = writer->write(picture_);
  const std::string out = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(status) << status.error().message;
  const auto image = io::decode_image(std::as_bytes(std::span(out)), "stdout");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->pixels, picture_.image.pixels);
}

TEST_F(Pictures, PreviewsThatCannotBeWrittenAreWarnings) {
  std::FILE* const log = std::tmpfile();
  Console console(log, false, false);
  options_.preview = folder_;  // a folder
  fs::create_directories(folder_);
  auto writer = PictureWriter::make(options_, console);
  ASSERT_TRUE(writer);
  writer->write_preview(picture_.image);
  std::rewind(log);
  char line[16] = {};
  EXPECT_EQ(std::fread(line, 1, 7, log), 7u);
  std::fclose(log);
  EXPECT_STREQ(line, "[WARN ]");
}

TEST(Metadata, ReadsThePicturesOfOtherPrograms) {
  const fs::path file = fs::path(testing::TempDir()) / "veneer_other_program.png";
  io::EncodeOptions how;
  how.text = io::ImageText{"a fox\nSteps: 20, Seed: 1, SDCPP: {\"seed\": 1}", {}};
  const auto encoded = io::encode_image(io::Image::blank(1, 1, 3), io::ImageFormat::kPng, how);
  ASSERT_TRUE(encoded);
  ASSERT_TRUE(write_file_atomically(file, encoded->bytes));
  EXPECT_EQ(json_of({"metadata", "--image", file.string(), "--json"})["parameters"]["seed"], 1);
  fs::remove(file);
}

}  // namespace
}  // namespace veneer::cli
