// A file that comes into being in one step: written under a temporary name in its own folder, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/result.h"

namespace veneer {

class AtomicFile {
 public:
  // An empty temporary file beside `path`, with the permissions of an ordinary new file. Parent folders are created.
  // Errors: io.
  static Result<AtomicFile> create(const std::filesystem::path& path);
  ~AtomicFile();  // removes what was not committed
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Makes the file `bytes` long; what is not written reads as zeros. Errors: io.
  Status resize(uint64_t bytes);
  // Writes from byte `at` on. Any thread may write; ranges must not overlap. Errors: io.
  Status write(uint64_t at, std::span<const std::byte> bytes);
  // Gives the file its name, replacing an old file of that name. Errors: io.
  Status commit();

 private:
  AtomicFile(std::filesystem::path path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  std::filesystem::path path_;
  std::string temporary_;  // empty once there is none
  int fd_ = -1;
};

}  // namespace veneer
