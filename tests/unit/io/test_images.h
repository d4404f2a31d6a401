// Pictures and hostile bytes for the tests of this folder. Everything is made from seeds; nothing is read from disk.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "io/image.h"

namespace veneer::io {

using Buffer = std::vector<std::byte>;

inline Buffer to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

inline std::string to_text(const Buffer& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline Image noise(int width, int height, int channels, uint32_t seed = 1) {
  Image image = Image::blank(width, height, channels);
  std::mt19937 generator(seed);
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(generator());
  return image;
}

// Smooth waves, a different one for each channel: what lossy formats are made for.
inline Image waves(int width, int height, int channels) {
  Image image = Image::blank(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width * channels; ++x) {
      const double phase = x % channels + (x / channels) * 0.11 + y * 0.07 * (x % channels + 1);
      image.row(y)[x] = static_cast<uint8_t>(128 + 100 * std::sin(phase));
    }
  }
  return image;
}

inline double psnr(const Image& a, const Image& b) {
  if (a.pixels.size() != b.pixels.size()) return 0.0;
  double sum = 0.0;
  for (size_t i = 0; i < a.pixels.size(); ++i) sum += std::pow(double(a.pixels[i]) - double(b.pixels[i]), 2);
  return 10.0 * std::log10(255.0 * 255.0 * static_cast<double>(a.pixels.size()) / (sum + 1e-9));
}

inline Buffer encoded(const Image& image, ImageFormat format, const EncodeOptions& options = {}) {
  auto result = encode_image(image, format, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? result->bytes : Buffer();
}

inline Image decoded(const Buffer& bytes, int channels = 0) {
  auto result = decode_image(bytes, "test", channels);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Image();
}

inline TextFields text_of(const Buffer& bytes) {
  auto result = read_image_text(bytes, "test");
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : TextFields();
}

// An EXIF block of one orientation entry.
inline std::string orientation_exif(int orientation, bool big_endian) {
  const std::string value(1, static_cast<char>(orientation));
  const std::string big("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19);
  const std::string little("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18);
  return std::string("Exif\0\0", 6) + (big_endian ? big + value : little + value + '\0') + std::string(6, '\0');
}

// Every proper beginning of the file is refused as damaged, with its name in the message.
inline void expect_every_beginning_refused(const Buffer& bytes) {
  ASSERT_TRUE(decode_image(bytes, "whole"));
  for (size_t length = 0; length < bytes.size(); ++length) {
    // A copy of just this size, so that the address sanitizer sees a read behind its end.
    const auto result = decode_image(Buffer(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)), "cut.file");
    ASSERT_FALSE(result) << "the first " << length << " of " << bytes.size() << " bytes";
    ASSERT_EQ(result.error().code, ErrorCode::kBadFile);
    ASSERT_TRUE(result.error().message.starts_with("picture cut.file: ")) << result.error().message;
  }
}

// Whatever single bits are wrong, the answer is an error or a picture whose parts agree.
inline void expect_every_flip_survived(const Buffer& bytes) {
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Buffer flipped = bytes;
    flipped[bit / 8] ^= std::byte{static_cast<uint8_t>(1u << bit % 8)};
    const auto image = decode_image(flipped, "flipped", 0);
    if (image) {
      ASSERT_EQ(image->pixels.size(), image->row_bytes() * static_cast<size_t>(image->height)) << "bit " << bit;
    }
    const auto text = read_image_text(flipped, "flipped");
    ASSERT_TRUE(text || !text.error().message.empty());
  }
}

}  // namespace veneer::io
