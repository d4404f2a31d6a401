// Files that appear whole, on POSIX systems.
#include "core/atomic_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/format.h"

namespace veneer {
namespace {

Error io_error(const std::filesystem::path& path, std::string_view doing) {
  const int reason = errno;
  return {ErrorCode::kIo, concat(path.string(), ": ", doing, " failed: ", std::strerror(reason)), path.string()};
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return io_error(path, "creating");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd, 0666 & ~mask);  // mkstemp makes files private
  return AtomicFile(path, std::move(temporary), fd);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::resize(uint64_t bytes) {
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return io_error(path_, "making room");
  return {};
}

Status AtomicFile::write(uint64_t at, std::span<const std::byte> bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return io_error(path_, "writing");
    done += static_cast<size_t>(put);
  }
  return {};
}

Status AtomicFile::commit() {
  if (::close(std::exchange(fd_, -1)) != 0) return io_error(path_, "writing");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return io_error(path_, "renaming into place");
  temporary_.clear();
  return {};
}

}  // namespace veneer
