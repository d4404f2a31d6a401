// JPEG: nearness of round trips, the kinds of file that cameras and programs write, orientation, damage.
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include "test_images.h"

namespace veneer::io {
namespace {

struct JpegKind {
  J_COLOR_SPACE space = JCS_RGB;
  int components = 3;
  bool progressive = false;
  bool arithmetic = false;
  std::vector<jpeg_scan_info> scans = {};
};

// A 24x16 file of a kind that encode_image does not write; all samples are 100.
Buffer jpeg(const JpegKind& kind) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = 24;
  info.image_height = 16;
  info.input_components = kind.components;
  info.in_color_space = kind.space;
  jpeg_set_defaults(&info);
  info.arith_code = kind.arithmetic;
  if (kind.progressive) jpeg_simple_progression(&info);
  if (!kind.scans.empty()) {
    info.scan_info = kind.scans.data();
    info.num_scans = static_cast<int>(kind.scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  std::vector<unsigned char> samples(24u * static_cast<size_t>(kind.components), 100);
  for (JSAMPROW row = samples.data(); info.next_scanline < info.image_height;) jpeg_write_scanlines(&info, &row, 1);
  jpeg_finish_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  Buffer out(begin, begin + size);
  jpeg_destroy_compress(&info);
  std::free(data);
  return out;
}

// The file with an EXIF block after its first marker.
Buffer with_exif(const Buffer& file, const std::string& exif) {
  const std::string marker = std::string("\xFF\xE1\0", 3) + static_cast<char>(exif.size() + 2) + exif;
  return to_bytes(to_text(file).insert(2, marker));
}

TEST(Jpeg, RoundTripIsNear) {
  // At quality 90 these pictures come back with 42.4 and 50.8 dB; halved chroma would give the first one 39.1.
  EXPECT_GT(psnr(decoded(encoded(waves(96, 64, 3), ImageFormat::kJpeg)), waves(96, 64, 3)), 41.5);
  EXPECT_GT(psnr(decoded(encoded(waves(96, 64, 1), ImageFormat::kJpeg)), waves(96, 64, 1)), 49.0);
}

TEST(Jpeg, ThinColouredLinesKeepTheirColour) {
  Image lines = Image::blank(32, 32, 3);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) lines.row(y)[3 * x + (x % 2 == 0 ? 0 : 2)] = 255;  // red and blue columns
  }
  const Image back = decoded(encoded(lines, ImageFormat::kJpeg));
  EXPECT_GT(psnr(back, lines), 40.0);  // halved chroma mixes them to purple, 8 dB
}

TEST(Jpeg, QualityDecidesSizeAndNearness) {
  const Image image = noise(64, 64, 3);
  const Buffer low = encoded(image, ImageFormat::kJpeg, {.quality = 10});
  const Buffer high = encoded(image, ImageFormat::kJpeg, {.quality = 95});
  EXPECT_LT(low.size() * 3, high.size());
  EXPECT_LT(psnr(decoded(low), image) + 10, psnr(decoded(high), image));
  EXPECT_EQ(high, encoded(image, ImageFormat::kJpeg, {.quality = 95}));
}

TEST(Jpeg, QualityOutOfRangeIsAUsageError) {
  for (const int quality : {0, 101}) {
    for (const ImageFormat format : {ImageFormat::kJpeg, ImageFormat::kWebp}) {
      const auto result = encode_image(noise(2, 2, 3), format, {.quality = quality});
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::kUsage);
    }
  }
}

TEST(Jpeg, GreyStaysGreyAndAlphaIsDropped) {
  EXPECT_EQ(decoded(encoded(waves(16, 16, 1), ImageFormat::kJpeg)).channels, 1);
  EXPECT_EQ(decoded(encoded(waves(16, 16, 1), ImageFormat::kJpeg), 3).channels, 3);
  const Image clear = waves(16, 16, 4);
  EXPECT_EQ(encoded(clear, ImageFormat::kJpeg), encoded(with_channels(clear, 3), ImageFormat::kJpeg));
}

TEST(Jpeg, LargeFilesAreWrittenWhole) {
  const Image image = noise(300, 300, 3);  // a file of several output buffers
  const Buffer bytes = encoded(image, ImageFormat::kJpeg, {.quality = 95});
  EXPECT_GT(bytes.size(), size_t{140000});
  EXPECT_GT(psnr(decoded(bytes), image), 25.0);
}

TEST(Jpeg, ReadsProgressiveAndArithmeticCoding) {
  for (const bool progressive : {false, true}) {
    for (const bool arithmetic : {false, true}) {
      const Image image = decoded(jpeg({.progressive = progressive, .arithmetic = arithmetic}));
      EXPECT_EQ(image.width, 24);
      EXPECT_EQ(image.pixels, std::vector<uint8_t>(24 * 16 * 3, 100));
    }
  }
}

TEST(Jpeg, CmykIsRefusedByName) {
  for (const J_COLOR_SPACE space : {JCS_CMYK, JCS_YCCK}) {
    const auto result = decode_image(jpeg({.space = space, .components = 4}), "print.jpg");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(result.error().message, "picture print.jpg: is a CMYK JPEG; convert it to RGB");
  }
}

// The scene: dark, with a bright top left quarter; `orientation` is how a camera stores it.
TEST(Jpeg, OrientationIsAppliedInBothByteOrders) {
  struct Case {
    int orientation;
    bool bright_right, bright_bottom;  // where a quarter stored top left belongs
  };
  constexpr Case kCases[] = {{1, false, false}, {2, true, false}, {3, true, true}, {4, false, true},
                             {5, false, false}, {6, true, false}, {7, true, true}, {8, false, true},
                             {0, false, false}, {9, false, false}};
  Image stored = Image::blank(32, 16, 1);
  for (int y = 0; y < 8; ++y) std::fill_n(stored.row(y), 16, uint8_t{250});
  const Buffer file = encoded(stored, ImageFormat::kJpeg);
  for (const Case& c : kCases) {
    for (const bool big_endian : {true, false}) {
      const Image image = decoded(with_exif(file, orientation_exif(c.orientation, big_endian)));
      const bool turned = c.orientation >= 5 && c.orientation <= 8;
      ASSERT_EQ(image.width, turned ? 16 : 32) << c.orientation;
      ASSERT_EQ(image.height, turned ? 32 : 16);
      for (const bool right : {false, true}) {
        for (const bool bottom : {false, true}) {
          const uint8_t corner = image.row(bottom ? image.height - 1 : 0)[right ? image.width - 1 : 0];
          EXPECT_EQ(corner > 128, right == c.bright_right && bottom == c.bright_bottom) << c.orientation;
        }
      }
    }
  }
}

TEST(Jpeg, EveryBeginningOfAFileIsRefused) {
  expect_every_beginning_refused(
      encoded(noise(16, 24, 3), ImageFormat::kJpeg, {.quality = 60, .text = ImageText{"fox", ""}}));
  expect_every_beginning_refused(jpeg({.progressive = true}));
}

TEST(Jpeg, FlippedBitsAreSurvived) {
  expect_every_flip_survived(
      encoded(noise(8, 8, 3), ImageFormat::kJpeg, {.quality = 20, .text = ImageText{"fox", ""}}));
}

TEST(Jpeg, TextIsReadThoughThePixelsAreCut) {
  Buffer bytes = encoded(noise(64, 64, 3), ImageFormat::kJpeg, {.text = ImageText{"a fox", ""}});
  bytes.resize(bytes.size() / 2);
  EXPECT_FALSE(decode_image(bytes, "cut.jpg"));
  EXPECT_EQ(generation_text(text_of(bytes)).parameters, "a fox");
}

TEST(Jpeg, GiantSizesAreRefusedByNumber) {
  std::string file = to_text(encoded(noise(8, 8, 3), ImageFormat::kJpeg));
  const size_t frame = file.find("\xFF\xC0");
  file.replace(frame + 5, 4, "\x7F\xFF\x7F\xFF");
  const auto result = decode_image(to_bytes(file), "giant.jpg");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "picture giant.jpg: is 32767x32767, expected at most 16384 a side");
}

TEST(Jpeg, ThousandsOfScansAreRefused) {
  std::vector<jpeg_scan_info> scans = {{1, {0, 0, 0, 0}, 0, 0, 0, 0}};
  for (int low = 9; low >= 0; --low) {  // each of the 63 other coefficients alone, bit by bit
    for (int k = 1; k < 64; ++k) scans.push_back({1, {0, 0, 0, 0}, k, k, low == 9 ? 0 : low + 1, low});
  }
  const JpegKind kind{.space = JCS_GRAYSCALE, .components = 1, .scans = scans};
  const auto result = decode_image(jpeg(kind), "scans.jpg");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "picture scans.jpg: damaged JPEG: more than 500 scans");
}

}  // namespace
}  // namespace veneer::io
