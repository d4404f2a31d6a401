// WebP: exact at quality 100, near below it, with alpha; animations, damage and giant sizes are refused.
#include <webp/encode.h>
#include <webp/mux.h>

#include "io/exif.h"
#include "test_images.h"

namespace veneer::io {
namespace {

Buffer animation() {
  WebPAnimEncoderOptions options;
  WebPAnimEncoderOptionsInit(&options);
  WebPAnimEncoder* encoder = WebPAnimEncoderNew(16, 16, &options);
  WebPConfig config;
  WebPConfigInit(&config);
  for (const int frame : {0, 1}) {
    WebPPicture picture;
    WebPPictureInit(&picture);
    picture.use_argb = 1;
    picture.width = picture.height = 16;
    const Image image = noise(16, 16, 3, static_cast<uint32_t>(frame));
    WebPPictureImportRGB(&picture, image.pixels.data(), 48);
    WebPAnimEncoderAdd(encoder, &picture, frame * 100, &config);
    WebPPictureFree(&picture);
  }
  WebPAnimEncoderAdd(encoder, nullptr, 200, nullptr);
  WebPData data;
  WebPAnimEncoderAssemble(encoder, &data);
  const auto* begin = reinterpret_cast<const std::byte*>(data.bytes);
  Buffer out(begin, begin + data.size);
  WebPDataClear(&data);
  WebPAnimEncoderDelete(encoder);
  return out;
}

Buffer with_exif(const Buffer& file, const std::string& exif) {
  const WebPData data{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  const WebPData chunk{reinterpret_cast<const uint8_t*>(exif.data()), exif.size()};
  WebPMux* mux = WebPMuxCreate(&data, 1);
  WebPMuxSetChunk(mux, "EXIF", &chunk, 1);
  WebPData assembled;
  EXPECT_EQ(WebPMuxAssemble(mux, &assembled), WEBP_MUX_OK);
  const auto* begin = reinterpret_cast<const std::byte*>(assembled.bytes);
  Buffer out(begin, begin + assembled.size);
  WebPDataClear(&assembled);
  WebPMuxDelete(mux);
  return out;
}

TEST(Webp, QualityHundredIsExact) {
  for (const int channels : {3, 4}) {
    const Image image = noise(33, 17, channels);
    const Image back = decoded(encoded(image, ImageFormat::kWebp, {.quality = 100}));
    EXPECT_EQ(back.channels, channels);
    EXPECT_EQ(back.pixels, image.pixels);  // also the colours under alpha 0
  }
}

TEST(Webp, GreyComesBackAsEqualRgb) {
  const Image image = noise(9, 9, 1);
  const Image back = decoded(encoded(image, ImageFormat::kWebp, {.quality = 100}));
  EXPECT_EQ(back.channels, 3);
  EXPECT_EQ(with_channels(back, 1).pixels, image.pixels);
}

TEST(Webp, LossyIsNear) {
  const Image image = waves(96, 64, 3);
  const Buffer bytes = encoded(image, ImageFormat::kWebp);
  EXPECT_GT(psnr(decoded(bytes), image), 35.0);  // the format halves chroma at every quality below 100
  EXPECT_EQ(bytes, encoded(image, ImageFormat::kWebp));
  EXPECT_LT(encoded(image, ImageFormat::kWebp, {.quality = 20}).size(), bytes.size());
}

TEST(Webp, LossyKeepsAlphaExact) {
  Image image = waves(32, 32, 4);
  const Image back = decoded(encoded(image, ImageFormat::kWebp, {.quality = 80}));
  ASSERT_EQ(back.channels, 4);
  for (size_t i = 3; i < image.pixels.size(); i += 4) ASSERT_EQ(back.pixels[i], image.pixels[i]);
}

TEST(Webp, ExifIsRead) {
  const Buffer file = encoded(noise(4, 2, 3), ImageFormat::kWebp, {.quality = 100, .text = ImageText{"a cat", ""}});
  const Image turned = decoded(with_exif(file, orientation_exif(6, false).substr(6)));  // by the letter: no prefix
  EXPECT_EQ(turned.width, 2);
  EXPECT_EQ(turned.height, 4);
  const TextFields expected = {{"parameters", "a cat"}, {"UserComment", "a fox"}};
  EXPECT_EQ(text_of(with_exif(file, exif_with_user_comment("a fox"))), expected);
}

TEST(Webp, AnimationsAreRefusedByName) {
  const auto result = decode_image(animation(), "moving.webp");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(result.error().message.find("animated WebP"), std::string::npos);
}

TEST(Webp, TooLargePicturesAreRefusedWhenWriting) {
  const auto result = encode_image(Image::blank(16384, 1, 1), ImageFormat::kWebp, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(result.error().message.find("16383"), std::string::npos);
}

TEST(Webp, EveryBeginningOfAFileIsRefused) {
  for (const int quality : {50, 100}) {
    const Buffer bytes =
        encoded(noise(9, 8, 4), ImageFormat::kWebp, {.quality = quality, .text = ImageText{"fox", ""}});
    expect_every_beginning_refused(bytes);
    for (size_t length = 0; length < bytes.size(); ++length)
      ASSERT_FALSE(read_image_text(std::span(bytes).first(length), "cut")) << length;
  }
}

TEST(Webp, CutFilesAreNamedWithBothLengths) {
  const Buffer bytes = encoded(noise(9, 8, 3), ImageFormat::kWebp);
  const auto result = decode_image(std::span(bytes).first(bytes.size() - 2), "cut.webp");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "picture cut.webp: damaged WebP: " + std::to_string(bytes.size()) +
                                        " bytes long by its header, found " + std::to_string(bytes.size() - 2));
}

TEST(Webp, FlippedBitsAreSurvived) {
  for (const int quality : {20, 100})
    expect_every_flip_survived(
        encoded(noise(4, 4, 4), ImageFormat::kWebp, {.quality = quality, .text = ImageText{"fox", ""}}));
}

TEST(Webp, GiantSizesAreRefusedByNumber) {
  std::string file = to_text(encoded(noise(8, 8, 3), ImageFormat::kWebp));
  ASSERT_EQ(file.substr(12, 4), "VP8 ");
  file.replace(26, 4, "\xFF\x3F\xFF\x3F");  // width and height of the key frame, 14 bits each
  const auto result = decode_image(to_bytes(file), "giant.webp");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "picture giant.webp: is 16383x16383, expected at most 100000000 pixels");
}

}  // namespace
}  // namespace veneer::io
