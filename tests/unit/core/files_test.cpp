// Files: mapping, and replacement in one step.
#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "core/format.h"
#include "core/hash.h"

namespace veneer {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / concat("veneer-files-", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Files, MappedAndReadFilesHoldTheSame) {
  ASSERT_TRUE(write_file_atomically(folder_ / "a", "some bytes"));
  for (const auto mode : {MappedFile::Mode::kMap, MappedFile::Mode::kRead}) {
    const auto file = MappedFile::open(folder_ / "a", mode);
    ASSERT_TRUE(file);
    EXPECT_EQ(std::memcmp((*file)->bytes().data(), "some bytes", 10), 0);
    EXPECT_TRUE((*file)->still_whole());
  }
}

TEST_F(Files, ReleasedPagesComeBackAsTheyWere) {
  const std::string text(100000, 'x');
  ASSERT_TRUE(write_file_atomically(folder_ / "a", text));
  for (const auto mode : {MappedFile::Mode::kMap, MappedFile::Mode::kRead}) {
    const auto file = *MappedFile::open(folder_ / "a", mode);
    file->release(file->bytes());
    file->release(std::as_bytes(std::span(text)));  // of nobody's file: nothing happens
    EXPECT_EQ(std::memcmp(file->bytes().data(), text.data(), text.size()), 0);
  }
}

// What lies in a weight's bytes cannot be changed by mistake: a store into them ends the process. The one that dies is
// this program started once more up to here, so the file is one of the repository, which leaves nothing behind.
TEST(FilePages, AreReadOnly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const auto mode : {MappedFile::Mode::kMap, MappedFile::Mode::kRead}) {
    const auto file = *MappedFile::open(std::string(VENEER_SOURCE_DIR) + "/LICENSE", mode);
    EXPECT_DEATH(const_cast<std::byte&>(file->bytes()[0]) = std::byte{1}, "");
  }
}

TEST_F(Files, FailuresNameTheFile) {
  const auto missing = MappedFile::open(folder_ / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("none"), std::string::npos);
  EXPECT_EQ(MappedFile::open(folder_).error().code, ErrorCode::kIo);
  EXPECT_EQ(read_text_file(folder_ / "none").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(write_file_atomically(folder_ / "long", std::string(100, 'x')));
  EXPECT_EQ(read_text_file(folder_ / "long", 99).error().code, ErrorCode::kBadFile);
  EXPECT_EQ(write_file_atomically("/proc/none/x", "y").error().code, ErrorCode::kIo);
}

TEST_F(Files, AnEmptyFileIsEmpty) {
  ASSERT_TRUE(write_file_atomically(folder_ / "empty", ""));
  EXPECT_TRUE((*MappedFile::open(folder_ / "empty"))->bytes().empty());
}

TEST_F(Files, ACutFileIsNoticed) {
  ASSERT_TRUE(write_file_atomically(folder_ / "a", std::string(10000, 'x')));
  const auto file = *MappedFile::open(folder_ / "a");
  std::filesystem::resize_file(folder_ / "a", 100);
  EXPECT_EQ(file->still_whole().error().code, ErrorCode::kBadFile);
}

TEST_F(Files, WritingReplacesAndLeavesNothingElse) {
  ASSERT_TRUE(write_file_atomically(folder_ / "sub/b", "one"));  // makes the folder
  ASSERT_TRUE(write_file_atomically(folder_ / "sub/b", "two"));
  EXPECT_EQ(*read_text_file(folder_ / "sub/b"), "two");
  const auto entries = std::distance(std::filesystem::directory_iterator(folder_ / "sub"), {});
  EXPECT_EQ(entries, 1);
}

// The published test vectors of FIPS 180-4.
TEST(Hash, Sha256) {
  const auto hex = [](std::string_view text) { return sha256_hex(std::as_bytes(std::span(text.data(), text.size()))); };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.add("a");
  hash.add("bc");
  EXPECT_EQ(hash.hex(), hex("abc"));
}

}  // namespace
}  // namespace veneer
