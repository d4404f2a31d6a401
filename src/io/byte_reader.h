// A cursor over foreign bytes: little-endian numbers and runs of bytes, in order and never beyond the end. Knows no
// format. Private to the readers of this folder.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/format.h"
#include "core/result.h"

namespace veneer::io {

class ByteReader {
 public:
  // `place` stands first in messages: the file's name, with the part of it where there are several.
  ByteReader(std::span<const std::byte> bytes, std::string_view place) : bytes_(bytes), place_(place) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  // The next `count` bytes. Errors: bad_file when fewer are left.
  Result<std::span<const std::byte>> run(uint64_t count) {
    if (count > left())
      return Error{ErrorCode::kBadFile,
                   concat(place_, ": ends too early: expected ", count, " bytes at byte ", position_, ", found ",
                          left(), "; the file is damaged or cut short, download it again"),
                   place_};
    const auto taken = bytes_.subspan(position_, static_cast<size_t>(count));
    position_ += taken.size();
    return taken;
  }

  Result<std::string_view> text(uint64_t count) {
    VENEER_TRY(bytes, run(count));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  // The text up to the next line feed, which is taken but not returned.
  Result<std::string_view> line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + position_, left());
    const size_t length = rest.find('\n');
    if (length == std::string_view::npos) return text(uint64_t{left()} + 1);
    VENEER_TRY(taken, text(length + 1));
    return taken.substr(0, length);
  }

  template <typename T>
  Result<T> number() {
    static_assert(std::endian::native == std::endian::little, "the bytes of a file are taken as they are");
    VENEER_TRY(bytes, run(sizeof(T)));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string place_;
  size_t position_ = 0;
};

}  // namespace veneer::io
