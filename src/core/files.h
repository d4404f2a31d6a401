// Files: mapped read-only, read whole, or replaced in one step. Paths are UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace veneer {

// A whole file, mapped read-only (or read into memory for network disks). The pages cannot be written: a stray store
// stops the process instead of changing a weight. Immutable, so any thread may read it.
class MappedFile {
 public:
  enum class Mode { kMap, kRead };
  // Errors: not_found (missing), io (cannot be opened or is no regular file).
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path, Mode mode = Mode::kMap);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  // A file that was cut after it was mapped would stop the process on the next read; callers ask before long work.
  // Errors: bad_file when the size on disk is no longer the size that was mapped.
  Status still_whole() const;
  // Lets go of the memory in which the pages wholly inside the range stand; a later read brings them back from the
  // file. Nothing for a range elsewhere or a file that was read instead of mapped.
  void release(std::span<const std::byte> range) const;

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
};

// Reads a text file of at most `limit` bytes. Errors: not_found, io, bad_file (larger than the limit).
Result<std::string> read_text_file(const std::filesystem::path& path, uint64_t limit = uint64_t{64} << 20);

// Writes to a temporary name in the same folder and renames it, so that a reader sees the old file or the whole new
// one. Parent folders are created. Errors: io.
Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
Status write_file_atomically(const std::filesystem::path& path, std::string_view text);

// The file's last path component, for messages and metadata.
std::string base_name(const std::filesystem::path& path);

}  // namespace veneer
