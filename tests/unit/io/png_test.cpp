// PNG: exact round trips, every kind of sample that files hold, and files that were damaged or made to hurt.
#include <zlib.h>

#include "test_images.h"

namespace veneer::io {
namespace {

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(static_cast<uint32_t>(sum));
}

std::string deflated(const std::string& data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  EXPECT_EQ(
      compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()), data.size()),
      Z_OK);
  out.resize(size);
  return out;
}

struct Header {
  uint32_t width, height;
  char depth, colour;  // colour: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
  char interlaced = 0;
};

// A PNG by hand: `rows` are the scanlines, each with its filter byte.
Buffer png(const Header& header, const std::string& rows, const std::string& before_pixels = "") {
  return to_bytes("\x89PNG\r\n\x1a\n" +
                  chunk("IHDR", big_endian(header.width) + big_endian(header.height) +
                                    std::string{header.depth, header.colour, 0, 0, header.interlaced}) +
                  before_pixels + chunk("IDAT", deflated(rows)) + chunk("IEND", ""));
}

std::string raw(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

using Pixels = std::vector<uint8_t>;

TEST(Png, RoundTripIsExactForAllChannelCounts) {
  for (const int channels : {1, 3, 4}) {
    for (const auto& [width, height] : {std::pair(1, 1), std::pair(7, 5), std::pair(64, 33)}) {
      for (const Image& image : {noise(width, height, channels), waves(width, height, channels)}) {
        const Image back = decoded(encoded(image, ImageFormat::kPng));
        EXPECT_EQ(back.width, width);
        EXPECT_EQ(back.height, height);
        EXPECT_EQ(back.channels, channels);
        EXPECT_EQ(back.pixels, image.pixels);
      }
    }
  }
}

TEST(Png, SameInputGivesSameBytes) {
  const EncodeOptions options{.text = ImageText{"a fox", "{}"}};
  EXPECT_EQ(encoded(waves(40, 30, 3), ImageFormat::kPng, options),
            encoded(waves(40, 30, 3), ImageFormat::kPng, options));
}

TEST(Png, ConvertsToTheChannelsAskedFor) {
  Image image = Image::blank(1, 1, 4);
  image.pixels = {200, 100, 50, 7};
  const Buffer bytes = encoded(image, ImageFormat::kPng);
  EXPECT_EQ(decoded(bytes, 3).pixels, (Pixels{200, 100, 50}));  // colours as stored, not blended
  EXPECT_EQ(decoded(bytes, 1).pixels, (Pixels{124}));           // 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2
  image.pixels = {0, 1, 0, 7};
  EXPECT_EQ(with_channels(image, 1).pixels, (Pixels{1}));  // 0.587, rounded
  EXPECT_EQ(decoded(encoded(noise(2, 2, 3), ImageFormat::kPng), 4).pixels[3], 255);
}

TEST(Png, GreyMaskStaysGrey) {
  Image mask = Image::blank(2, 1, 1);
  mask.pixels = {0, 255};
  const Buffer bytes = encoded(mask, ImageFormat::kPng);
  EXPECT_EQ(decoded(bytes).channels, 1);
  EXPECT_EQ(decoded(bytes, 1).pixels, mask.pixels);
  EXPECT_EQ(decoded(bytes, 3).pixels, (Pixels{0, 0, 0, 255, 255, 255}));
}

TEST(Png, EveryGreyValueSurvivesTheWayThroughRgb) {
  Image ramp = Image::blank(256, 1, 1);
  for (int i = 0; i < 256; ++i) ramp.pixels[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  EXPECT_EQ(with_channels(with_channels(ramp, 3), 1).pixels, ramp.pixels);
}

TEST(Png, ReadsSmallSamples) {
  const Image one_bit = decoded(png({3, 1, 1, 0}, raw({0, 0b10100000})));
  EXPECT_EQ(one_bit.channels, 1);
  EXPECT_EQ(one_bit.pixels, (Pixels{255, 0, 255}));
  EXPECT_EQ(decoded(png({2, 1, 2, 0}, raw({0, 0b01110000}))).pixels, (Pixels{85, 255}));
  EXPECT_EQ(decoded(png({2, 1, 4, 0}, raw({0, 0x3C}))).pixels, (Pixels{51, 204}));
}

TEST(Png, SixteenBitSamplesKeepTheirHighByte) {
  EXPECT_EQ(decoded(png({2, 1, 16, 0}, raw({0, 0x12, 0xFF, 0xFE, 0x00}))).pixels, (Pixels{0x12, 0xFE}));
  EXPECT_EQ(decoded(png({1, 1, 16, 2}, raw({0, 1, 2, 3, 4, 5, 6}))).pixels, (Pixels{1, 3, 5}));
}

TEST(Png, ReadsPalettesWithAndWithoutTransparency) {
  const std::string palette = chunk("PLTE", raw({10, 20, 30, 40, 50, 60}));
  const Image opaque = decoded(png({2, 1, 8, 3}, raw({0, 1, 0}), palette));
  EXPECT_EQ(opaque.channels, 3);
  EXPECT_EQ(opaque.pixels, (Pixels{40, 50, 60, 10, 20, 30}));
  const Image clear = decoded(png({2, 1, 8, 3}, raw({0, 1, 0}), palette + chunk("tRNS", raw({77}))));
  EXPECT_EQ(clear.channels, 4);
  EXPECT_EQ(clear.pixels, (Pixels{40, 50, 60, 255, 10, 20, 30, 77}));
  EXPECT_EQ(decoded(png({1, 1, 8, 3}, raw({0, 2}), palette)).pixels, (Pixels{0, 0, 0}));  // beyond the palette: black
}

TEST(Png, ReadsTransparentColoursAndGreyWithAlpha) {
  const Image keyed = decoded(png({2, 1, 8, 2}, raw({0, 1, 2, 3, 4, 5, 6}), chunk("tRNS", raw({0, 1, 0, 2, 0, 3}))));
  EXPECT_EQ(keyed.pixels, (Pixels{1, 2, 3, 0, 4, 5, 6, 255}));
  EXPECT_EQ(decoded(png({1, 1, 8, 4}, raw({0, 90, 12}))).pixels, (Pixels{90, 90, 90, 12}));
}

TEST(Png, ReadsInterlacedPictures) {
  // Of Adam7's seven passes, 2x2 pixels use three: (0,0); (1,0); and the second row.
  const Image image = decoded(png({2, 2, 8, 0, 1}, raw({0, 11, 0, 22, 0, 33, 44})));
  EXPECT_EQ(image.pixels, (Pixels{11, 22, 33, 44}));
}

TEST(Png, EveryBeginningOfAFileIsRefused) {
  const EncodeOptions options{.text = ImageText{"a red fox", "{\"seed\":1}"}};
  const Buffer bytes = encoded(noise(5, 4, 3), ImageFormat::kPng, options);
  expect_every_beginning_refused(bytes);
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_FALSE(read_image_text(std::span(bytes).first(length), "cut")) << length;
}

TEST(Png, FlippedBitsAreSurvivedAndSeenInThePixels) {
  const Buffer bytes = encoded(noise(3, 3, 4), ImageFormat::kPng, {.text = ImageText{"fox", "{}"}});
  expect_every_flip_survived(bytes);
  Buffer flipped = bytes;
  flipped[to_text(bytes).find("IDAT") + 8] ^= std::byte{1};
  const auto pixels = decode_image(flipped, "flipped.png");
  ASSERT_FALSE(pixels);
  EXPECT_EQ(pixels.error().code, ErrorCode::kBadFile);
  EXPECT_NE(pixels.error().message.find("wrong checksum"), std::string::npos) << pixels.error().message;
  const auto text = read_image_text(flipped, "flipped.png");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("wrong checksum"), std::string::npos) << text.error().message;
}

TEST(Png, GiantSizesAreRefusedByNumber) {
  for (const Header& header : {Header{16385, 1, 8, 2}, Header{1, 0x7FFFFFFF, 8, 2}, Header{16384, 16384, 8, 2}}) {
    const auto result = decode_image(png(header, ""), "giant.png");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kBadFile);
    EXPECT_NE(result.error().message.find("expected at most"), std::string::npos) << result.error().message;
  }
}

TEST(Png, ReadsAllThreeTextChunks) {
  const std::string texts = chunk("tEXt", std::string("Plain\0caf\xE9", 10)) +  // Latin-1
                            chunk("tEXt", std::string("Utf\0caf\xC3\xA9", 9)) +
                            chunk("zTXt", std::string("Packed\0\0", 8) + deflated("line\nline")) +
                            chunk("iTXt", std::string("Open\0\0\0en\0key\0\xF0\x9F\xA6\x8A", 18)) +
                            chunk("iTXt", std::string("Shut\0\1\0\0\0", 9) + deflated("fox"));
  const TextFields expected = {{"Plain", "caf\xC3\xA9"},
                               {"Utf", "caf\xC3\xA9"},
                               {"Packed", "line\nline"},
                               {"Open", "\xF0\x9F\xA6\x8A"},
                               {"Shut", "fox"}};
  EXPECT_EQ(text_of(png({1, 1, 8, 0}, raw({0, 0}), texts)), expected);
}

TEST(Png, MalformedTextChunksAreNamed) {
  for (const std::string& bad : {chunk("tEXt", "no zero"), chunk("tEXt", std::string("\0x", 2)),
                                 chunk("zTXt", std::string("k\0", 2)), chunk("zTXt", std::string("k\0\1x", 4)),
                                 chunk("iTXt", std::string("k\0\0", 3)), chunk("iTXt", std::string("k\0\0\0en", 6)),
                                 chunk("zTXt", std::string("k\0\0", 3) + deflated("text").substr(0, 5))}) {
    const auto text = read_image_text(png({1, 1, 8, 0}, raw({0, 0}), bad), "bad.png");
    ASSERT_FALSE(text);
    EXPECT_TRUE(text.error().message.starts_with("picture bad.png: damaged PNG: ")) << text.error().message;
  }
}

TEST(Png, TextThatInflatesWithoutEndIsRefused) {
  const std::string bomb = deflated(std::string(size_t{20} << 20, 'a'));  // 20 kB that become 20 MiB
  for (const std::string& text :
       {chunk("zTXt", std::string("k\0\0", 3) + bomb), chunk("iTXt", std::string("k\0\1\0\0\0", 6) + bomb)}) {
    const auto fields = read_image_text(png({1, 1, 8, 0}, raw({0, 0}), text), "bomb.png");
    ASSERT_FALSE(fields);
    EXPECT_NE(fields.error().message.find("limit of 16 MiB"), std::string::npos) << fields.error().message;
  }
  // Nor do many chunks within the limit add up beyond it.
  const std::string part = chunk("zTXt", std::string("k\0\0", 3) + deflated(std::string(size_t{6} << 20, 'a')));
  EXPECT_TRUE(read_image_text(png({1, 1, 8, 0}, raw({0, 0}), part + part), "two.png"));
  EXPECT_FALSE(read_image_text(png({1, 1, 8, 0}, raw({0, 0}), part + part + part), "three.png"));
}

TEST(Png, TextStandsInTheFileAsGiven) {
  const std::string fox = "a \xF0\x9F\xA6\x8A";
  const std::string file = to_text(encoded(noise(2, 2, 3), ImageFormat::kPng, {.text = ImageText{fox, "{\"a\":1}"}}));
  EXPECT_NE(file.find(chunk("tEXt", std::string("parameters\0", 11) + fox)), std::string::npos);
  EXPECT_NE(file.find(chunk("iTXt", std::string("veneer\0\0\0\0\0", 11) + "{\"a\":1}")), std::string::npos);
}

}  // namespace
}  // namespace veneer::io
