// Names of written files: patterns, numbers, extensions, and places that cannot be written to.
#include "output_names.h"

#include <gtest/gtest.h>

#include <fstream>

namespace veneer::cli {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* name;
  int first_index, count, picture;
  const char* path;
  io::ImageFormat format;
};

constexpr Case kCases[] = {
    {"fox.png", 0, 1, 0, "fox.png", io::ImageFormat::kPng},
    {"fox.png", 5, 1, 0, "fox.png", io::ImageFormat::kPng},
    {"./fox", 0, 1, 0, "./fox.png", io::ImageFormat::kPng},
    {"fox.v2", 0, 1, 0, "fox.v2.png", io::ImageFormat::kPng},
    {"fox.JPG", 0, 1, 0, "fox.JPG", io::ImageFormat::kJpeg},
    {"fox.jpeg", 0, 1, 0, "fox.jpeg", io::ImageFormat::kJpeg},
    {"fox.webp", 0, 1, 0, "fox.webp", io::ImageFormat::kWebp},
    {"a/b.c/fox.png", 0, 3, 0, "a/b.c/fox_0.png", io::ImageFormat::kPng},
    {"a/b.c/fox.png", 0, 3, 2, "a/b.c/fox_2.png", io::ImageFormat::kPng},
    {"a/b.c/fox", 4, 3, 2, "a/b.c/fox_6.png", io::ImageFormat::kPng},
    {"fox_%d.webp", 0, 1, 0, "fox_0.webp", io::ImageFormat::kWebp},
    {"fox_%03d.png", 7, 2, 1, "fox_008.png", io::ImageFormat::kPng},
    {"%d/fox_%02d", 0, 2, 1, "1/fox_01.png", io::ImageFormat::kPng},
    {"fox_%03d.png", 12345, 1, 0, "fox_12345.png", io::ImageFormat::kPng},
    {"100%%.png", 0, 1, 0, "100%.png", io::ImageFormat::kPng},
    {"100%%.png", 0, 2, 1, "100%_1.png", io::ImageFormat::kPng},
    {"%%d.png", 0, 1, 0, "%d.png", io::ImageFormat::kPng},
    {"fox_%d.png", 2147483647, 2, 1, "fox_2147483648.png", io::ImageFormat::kPng},
};

TEST(OutputNames, FollowTheRules) {
  for (const Case& c : kCases) {
    const auto names = OutputNames::parse(c.name, c.first_index, c.count);
    ASSERT_TRUE(names) << c.name;
    EXPECT_EQ(names->file(c.picture).path, c.path);
    EXPECT_EQ(names->file(c.picture).format, c.format) << c.name;
  }
}

TEST(OutputNames, RefuseOtherPatterns) {
  for (const char* name : {"", "folder/", "%", "fox_%", "fox_%s.png", "fox_%3", "fox_%-3d.png", "%1000000000d.png",
                           "%99999999999999999999d.png", "fox_%3%.png"}) {
    const auto names = OutputNames::parse(name, 0, 1);
    ASSERT_FALSE(names) << name;
    EXPECT_EQ(names.error().code, ErrorCode::kUsage);
    EXPECT_EQ(names.error().where, "--output");
  }
}

class CheckWritable : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "veneer_check_writable";
    fs::create_directories(folder_);
    std::ofstream(folder_ / "file") << "text";
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(CheckWritable, AcceptsWhatCanBeMadeAndMakesNothing) {
  EXPECT_TRUE(check_writable(folder_ / "fox.png"));
  EXPECT_TRUE(check_writable(folder_ / "file"));
  EXPECT_TRUE(check_writable(folder_ / "a" / "b" / "fox.png"));
  EXPECT_TRUE(check_writable("fox.png"));
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(CheckWritable, RefusesWhatCannot) {
  for (const fs::path& path : {folder_, folder_ / "file" / "fox.png", folder_ / "file" / "a" / "fox.png"}) {
    const Status status = check_writable(path);
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_EQ(status.error().where, path.string());
  }
}

}  // namespace
}  // namespace veneer::cli
