// Pictures: eight-bit pixels, reading and writing of PNG, JPEG and WebP with the text they carry, and resizing.
// Pixels are taken as stored: colour profiles and gamma are not applied. Same input, same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace veneer::io {

// Rows from the top, channels interleaved: pixels[(y * width + x) * channels + c]. 1 = grey, 3 = RGB, 4 = RGBA (not
// premultiplied).
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<uint8_t> pixels;

  static Image blank(int width, int height, int channels);  // all zero
  uint8_t* row(int y) { return pixels.data() + row_bytes() * static_cast<size_t>(y); }
  const uint8_t* row(int y) const { return pixels.data() + row_bytes() * static_cast<size_t>(y); }
  size_t row_bytes() const { return static_cast<size_t>(width) * static_cast<size_t>(channels); }
};

enum class ImageFormat { kPng, kJpeg, kWebp };
// By extension (.png .jpg .jpeg .webp, any case); empty when it is none of these.
std::optional<ImageFormat> image_format_of(const std::filesystem::path& path);

// Decodes by content. Sizes above 16384 a side or 100 million pixels are refused before memory is taken for them.
// 16-bit samples keep their high byte; palettes and transparent colours become RGB or RGBA; a JPEG or WebP is turned as
// its EXIF orientation says, because cameras store pictures lying on their side. `channels` 0 keeps what the file has
// (1, 3 or 4); 1, 3 or 4 converts as with_channels does. `name` stands in messages.
// Errors: bad_file naming the file and what is wrong, also for files that end early; unsupported for CMYK and
// animations.
Result<Image> decode_image(std::span<const std::byte> bytes, std::string_view name, int channels = 3);
// Errors: also not_found and io.
Result<Image> read_image(const std::filesystem::path& path, int channels = 3);

// Text that travels in a picture.
struct ImageText {
  std::string parameters;  // the A1111 text
  std::string json;        // this program's JSON, or empty
};

struct EncodeOptions {
  int quality = 90;                              // JPEG and WebP, 1..100; WebP is lossless at 100
  std::optional<ImageText> text = std::nullopt;  // none: no metadata
};

struct EncodedImage {
  std::vector<std::byte> bytes;
  // What of the text could not be stored, and why; empty when all of it was. The picture matters more than its text,
  // so text that a format cannot hold is left out, not an error: over 64 KiB in a JPEG, over 16 MiB elsewhere.
  std::string text_note;
};

// Where the text goes: PNG, tEXt `parameters` and iTXt `veneer`; JPEG, one comment each (`parameters`, a zero byte, the
// text) and EXIF UserComment; WebP, an XMP packet. Characters that XML or PNG cannot hold (zero and other controls
// except tab, line feed and carriage return) and malformed UTF-8 are written as U+FFFD in every format, so what is read
// back does not depend on the format. JPEG drops alpha. Errors: usage (quality out of range), unsupported (larger than
// the format allows).
Result<EncodedImage> encode_image(const Image& image, ImageFormat format, const EncodeOptions& options);

using TextFields = std::vector<std::pair<std::string, std::string>>;  // key and text, both UTF-8, in file order

// All text fields of a picture: PNG tEXt, zTXt and iTXt; JPEG comments (key "comment" when they name none); EXIF
// "UserComment"; WebP XMP ("parameters" and "veneer", else the packet itself as "XMP"). Pixels are not decoded, so a
// JPEG with damaged pixels still tells its text. Errors: bad_file, also for a PNG with more than 16 MiB of text.
Result<TextFields> read_image_text(std::span<const std::byte> bytes, std::string_view name);
// The generation text among such fields: `parameters`, or else UserComment, where A1111 keeps it in JPEG and WebP.
ImageText generation_text(const TextFields& fields);

// Grey becomes equal RGB, colour becomes grey by the Rec. 601 weights (299, 587, 114 thousandths, rounded), new alpha
// is opaque; dropping alpha keeps the colours as stored.
Image with_channels(Image image, int channels);

// Each axis on its own: area-weighted when shrinking (a source pixel counts by the part of it that is covered),
// Catmull-Rom when enlarging, with edges clamped and pixel centres at halves. Rounded once at the end, halves up, to
// 0..255. Channels are independent: colours under transparent pixels keep their weight.
Image resize(const Image& image, int width, int height);
// Cuts the centre to the target's aspect ratio (whole pixels, the odd one falls off at the right or bottom), then
// resizes.
Image crop_and_resize(const Image& image, int width, int height);

}  // namespace veneer::io
