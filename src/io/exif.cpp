// A reader for the few TIFF entries needed. No offset of the block is trusted.
#include "io/exif.h"

#include <array>
#include <cstdint>

#include "io/image_text.h"

namespace veneer::io {
namespace {

constexpr std::string_view kPrefix("Exif\0\0", 6);
constexpr std::string_view kBigEndianHeader("MM\0*", 4);
constexpr std::string_view kLittleEndianHeader("II*\0", 4);
constexpr std::string_view kUnicode("UNICODE\0", 8);
constexpr std::string_view kAscii("ASCII\0\0\0", 8);
constexpr std::string_view kUndefined("\0\0\0\0\0\0\0\0", 8);

constexpr uint16_t kOrientationTag = 0x0112;
constexpr uint16_t kExifDirectoryTag = 0x8769;
constexpr uint16_t kUserCommentTag = 0x9286;
constexpr uint16_t kLongType = 4;
constexpr uint16_t kUndefinedType = 7;  // bytes
constexpr size_t kEntryBytes = 12;      // tag, type, count, value or offset

class Tiff {
 public:
  explicit Tiff(std::string_view block) : block_(block) {
    if (block_.starts_with(kPrefix)) block_.remove_prefix(kPrefix.size());
    big_endian_ = block_.starts_with(kBigEndianHeader);
    if (!big_endian_ && !block_.starts_with(kLittleEndianHeader)) block_ = {};
  }

  // The number of `bytes` bytes at `at`; 0 outside the block, which leads nowhere: no directory begins at 0.
  uint32_t number(size_t at, size_t bytes) const {
    if (at > block_.size() || block_.size() - at < bytes) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value = value << 8 | static_cast<uint8_t>(block_[at + (big_endian_ ? i : bytes - 1 - i)]);
    return value;
  }

  // Where the entry of `tag` begins in the directory at `directory`, or 0.
  size_t find(size_t directory, uint16_t tag) const {
    if (directory == 0) return 0;
    const uint32_t count = number(directory, 2);
    for (uint32_t i = 0; i < count; ++i) {
      const size_t entry = directory + 2 + i * kEntryBytes;
      if (number(entry, 2) == tag) return entry;
    }
    return 0;
  }

  size_t first_directory() const { return number(4, 4); }
  size_t exif_directory() const {
    const size_t entry = find(first_directory(), kExifDirectoryTag);
    return entry == 0 ? 0 : number(entry + 8, 4);
  }

  // The bytes of an entry whose value is too long to stand in the entry itself.
  std::string_view bytes_of(size_t entry) const {
    const size_t count = number(entry + 4, 4);
    const size_t offset = number(entry + 8, 4);
    if (offset > block_.size() || block_.size() - offset < count) return {};
    return block_.substr(offset, count);
  }

 private:
  std::string_view block_;
  bool big_endian_ = false;
};

void append_number(std::string& out, uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

// A directory of one entry, and no next one. Its 18 bytes begin at `offset` of the block.
void append_directory(std::string& out, uint16_t tag, uint16_t type, uint32_t count, uint32_t value) {
  append_number(out, 1, 2);
  append_number(out, tag, 2);
  append_number(out, type, 2);
  append_number(out, count, 4);
  append_number(out, value, 4);
  append_number(out, 0, 4);
}

}  // namespace

int exif_orientation(std::string_view exif) {
  const Tiff tiff(exif);
  const size_t entry = tiff.find(tiff.first_directory(), kOrientationTag);
  const uint32_t value = entry == 0 ? 1 : tiff.number(entry + 8, 2);
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

std::optional<std::string> exif_user_comment(std::string_view exif) {
  const Tiff tiff(exif);
  const size_t entry = tiff.find(tiff.exif_directory(), kUserCommentTag);
  if (entry == 0) return std::nullopt;
  const std::string_view value = tiff.bytes_of(entry);
  if (value.size() < kUnicode.size()) return std::nullopt;
  const std::string_view raw = value.substr(kUnicode.size());
  std::string text;
  if (value.starts_with(kUnicode)) text = utf8_from_utf16(raw);
  if (value.starts_with(kAscii) || value.starts_with(kUndefined)) text = text_from_bytes(raw);
  while (text.ends_with('\0')) text.pop_back();  // cameras reserve room and fill it with zeros
  if (text.empty()) return std::nullopt;
  return text;
}

std::string exif_with_user_comment(std::string_view text) {
  constexpr uint32_t kHeaderBytes = 8;
  constexpr uint32_t kDirectoryBytes = 2 + kEntryBytes + 4;
  const std::string comment = std::string(kUnicode) + utf16_from_utf8(text);
  std::string out = std::string(kPrefix) + std::string(kBigEndianHeader);
  append_number(out, kHeaderBytes, 4);
  append_directory(out, kExifDirectoryTag, kLongType, 1, kHeaderBytes + kDirectoryBytes);
  append_directory(out, kUserCommentTag, kUndefinedType, static_cast<uint32_t>(comment.size()),
                   kHeaderBytes + 2 * kDirectoryBytes);
  return out + comment;
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  // Orientation 1..8 tells which edges of the scene the first row and column show.
  const bool transposed = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image out =
      Image::blank(transposed ? image.height : image.width, transposed ? image.width : image.height, image.channels);
  for (int y = 0; y < out.height; ++y) {
    uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x) {
      int source_x = transposed ? y : x;
      int source_y = transposed ? x : y;
      if (from_right) source_x = image.width - 1 - source_x;
      if (from_bottom) source_y = image.height - 1 - source_y;
      const uint8_t* from = image.row(source_y) + static_cast<ptrdiff_t>(source_x) * image.channels;
      for (int c = 0; c < image.channels; ++c) *to++ = from[c];
    }
  }
  return out;
}

}  // namespace veneer::io
