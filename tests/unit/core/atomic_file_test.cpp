// Files that appear whole or not at all.
#include "core/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/format.h"

namespace veneer {
namespace {

class AtomicFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "veneer_atomic_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  int64_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }

  std::filesystem::path folder_;
};

TEST_F(AtomicFiles, AppearWithCommit) {
  const auto path = folder_ / "x";
  ASSERT_TRUE(write_file_atomically(path, "old"));
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->resize(6));
  ASSERT_TRUE(file->write(4, bytes("ef")));
  ASSERT_TRUE(file->write(0, bytes("ab")));
  EXPECT_EQ(*read_text_file(path), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(*read_text_file(path), std::string("ab\0\0ef", 6));
  EXPECT_EQ(files(), 1);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
}

TEST_F(AtomicFiles, LeaveNothingWithoutCommit) {
  {
    auto file = AtomicFile::create(folder_ / "x");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(0, bytes("ab")));
    const AtomicFile moved = *std::move(file);
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(AtomicFiles, SayWhatFailed) {
  ASSERT_TRUE(write_file_atomically(folder_ / "file", "x"));
  const auto below_a_file = AtomicFile::create(folder_ / "file" / "y");
  ASSERT_FALSE(below_a_file);
  EXPECT_EQ(below_a_file.error().code, ErrorCode::kIo);
  EXPECT_TRUE(contains(below_a_file.error().message, "file/y: creating failed"));
  std::filesystem::create_directories(folder_ / "taken" / "inside");
  auto file = AtomicFile::create(folder_ / "taken");
  ASSERT_TRUE(file);
  const Status renamed = file->commit();
  ASSERT_FALSE(renamed);
  EXPECT_TRUE(contains(renamed.error().message, "taken: renaming into place failed"));
}

}  // namespace
}  // namespace veneer
