// What each picture format gives to decode_image and its sisters: one constant per format, listed in image.cpp.
// Private to the picture files of this folder.
#pragma once

#include <array>

#include "io/image.h"

namespace veneer::io {

struct ImageCoder {
  ImageFormat format;
  std::array<std::string_view, 2> extensions;  // lower case, with the dot
  bool (*sniff)(std::span<const std::byte> bytes);
  Result<Image> (*decode)(std::span<const std::byte> bytes, std::string_view name);
  // `options.text` is storable (image_text.h) and `quality` in range.
  Result<EncodedImage> (*encode)(const Image& image, const EncodeOptions& options);
  Result<TextFields> (*read_text)(std::span<const std::byte> bytes, std::string_view name);
};

extern const ImageCoder kPngCoder;
extern const ImageCoder kJpegCoder;
extern const ImageCoder kWebpCoder;

inline constexpr int kMaxImageSide = 16384;
inline constexpr int64_t kMaxImagePixels = 100'000'000;
inline constexpr size_t kMaxTextBytes = size_t{16} << 20;

// bad_file: "picture NAME: FAULT".
Error bad_image(std::string_view name, std::string_view fault);
// What a decoder asks before it takes memory. Errors: bad_file with the size and the limit.
Status check_image_size(uint64_t width, uint64_t height, std::string_view name);
// Why this text is left out of a format without a tighter limit of its own, or empty.
std::string too_long_note(const ImageText& text);
bool starts_with(std::span<const std::byte> bytes, std::string_view magic);

}  // namespace veneer::io
