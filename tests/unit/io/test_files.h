// Files that the tests of containers and models make for themselves.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "io/safetensors_write.h"

namespace veneer::io {

inline std::filesystem::path data_path(std::string_view name) {
  return std::filesystem::path(VENEER_SOURCE_DIR) / "tests" / "data" / name;
}

// A folder of one test, gone with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "veneer_io_XXXXXX").string();
    if (::mkdtemp(name.data())) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    EXPECT_TRUE(write_file_atomically(path_ / name, content));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// A whole safetensors file of a header's text and data, with the length in front; right or wrong.
inline std::string raw_safetensors(std::string_view header, std::string_view data = {}) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file.append(header).append(data);
}

struct NamedValues {
  std::string name;
  std::vector<float> values;
  Shape shape = {static_cast<int64_t>(values.size())};
};

// A file of F32 tensors.
inline std::filesystem::path write_f32(const std::filesystem::path& path, const std::vector<NamedValues>& tensors,
                                       const std::map<std::string, std::string>& metadata = {}) {
  std::vector<TensorToWrite> out;
  for (const NamedValues& tensor : tensors)
    out.push_back({tensor.name, "F32", tensor.shape, std::as_bytes(std::span(tensor.values))});
  EXPECT_TRUE(write_safetensors(path, out, metadata));
  return path;
}

// The same with one value each, for tests that look at names only.
inline std::filesystem::path write_names(const std::filesystem::path& path, const std::vector<std::string>& names) {
  std::vector<NamedValues> tensors;
  for (const std::string& name : names) tensors.push_back({name, {1.0f}});
  return write_f32(path, tensors);
}

}  // namespace veneer::io
