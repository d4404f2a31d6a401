// Files on POSIX systems.
#include "core/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/atomic_file.h"
#include "core/format.h"

namespace veneer {
namespace {

Error io_error(const std::filesystem::path& path, std::string_view doing) {
  const int reason = errno;
  return {ErrorCode::kIo, concat(path.string(), ": ", doing, " failed: ", std::strerror(reason)), path.string()};
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status read_exactly(int fd, std::byte* out, size_t bytes, const std::filesystem::path& path) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = ::read(fd, out + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path, "reading");
    if (got == 0)
      return Error{ErrorCode::kBadFile, concat(path.string(), ": became shorter while it was read"), path.string()};
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path, Mode mode) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0 && errno == ENOENT)
    return Error{ErrorCode::kNotFound, concat(path.string(), ": no such file"), path.string()};
  if (fd.get() < 0) return io_error(path, "opening");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return io_error(path, "reading the size");
  if (!S_ISREG(info.st_mode))
    return Error{ErrorCode::kIo, concat(path.string(), ": is not a regular file"), path.string()};

  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(file);
  const int flags = mode == Mode::kMap ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS;
  const int protection = mode == Mode::kMap ? PROT_READ : PROT_READ | PROT_WRITE;
  void* base = ::mmap(nullptr, size, protection, flags, mode == Mode::kMap ? fd.get() : -1, 0);
  if (base == MAP_FAILED) return io_error(path, "mapping");
  file->bytes_ = {static_cast<const std::byte*>(base), size};
  file->mapped_ = mode == Mode::kMap;
  if (mode == Mode::kRead) {
    VENEER_TRY_STATUS(read_exactly(fd.get(), static_cast<std::byte*>(base), size, path));
    ::mprotect(base, size, PROT_READ);
  }
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(std::span<const std::byte> range) const {
  if (!mapped_ || range.data() < bytes_.data() || range.data() + range.size() > bytes_.data() + bytes_.size()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(range.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(range.data() + range.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Status MappedFile::still_whole() const {
  struct stat info {};
  if (!mapped_) return {};
  if (::stat(path_.c_str(), &info) != 0) return {};  // removed or renamed: the mapping keeps the old file alive
  if (static_cast<size_t>(info.st_size) >= bytes_.size()) return {};
  return Error{
      ErrorCode::kBadFile,
      concat(path_.string(), ": was cut from ", bytes_.size(), " to ", info.st_size, " bytes while in use; restore it"),
      path_.string()};
}

Result<std::string> read_text_file(const std::filesystem::path& path, uint64_t limit) {
  VENEER_TRY(file, MappedFile::open(path, MappedFile::Mode::kRead));
  const auto bytes = file->bytes();
  if (bytes.size() > limit)
    return Error{ErrorCode::kBadFile, concat(path.string(), ": ", bytes.size(), " bytes, expected at most ", limit),
                 path.string()};
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  VENEER_TRY(file, AtomicFile::create(path));
  VENEER_TRY_STATUS(file.write(0, bytes));
  return file.commit();
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  return write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

std::string base_name(const std::filesystem::path& path) { return path.filename().string(); }

}  // namespace veneer
