// What the tests of this folder share: the small tokenizer of the test model, and folders to write bad files to.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"
#include "text/clip_tokenizer.h"

namespace veneer::text {

inline const std::filesystem::path kTinyTokenizer =
    std::filesystem::path(VENEER_SOURCE_DIR) / "tests/data/tiny-sd1/tokenizer";

// 512 byte symbols, 64 merges, start 576, end 577.
inline const ClipTokenizer& tiny_tokenizer() {
  static const Result<ClipTokenizer> tokenizer = ClipTokenizer::load_folder(kTinyTokenizer);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return *tokenizer;
}

// A folder of the running test, empty at first and removed at the end.
class TestFolder {
 public:
  TestFolder() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) / (std::string("veneer_text_") + info->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(std::string_view name, std::string_view text) const {
    const auto file = path_ / name;
    if (auto status = write_file_atomically(file, text); !status) throw std::runtime_error(status.error().message);
    return file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace veneer::text
