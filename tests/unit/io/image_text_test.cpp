// Text in pictures: what goes in comes out of every format, and what other programs wrote is understood.
// Also what all formats share: finding the format, and files that are none.
#include "io/image_text.h"

#include <filesystem>

#include "core/files.h"
#include "io/exif.h"
#include "io/xmp.h"
#include "test_images.h"

namespace veneer::io {
namespace {

constexpr ImageFormat kFormats[] = {ImageFormat::kPng, ImageFormat::kJpeg, ImageFormat::kWebp};
const std::string kFox = "\xF0\x9F\xA6\x8A";      // U+1F98A
const std::string kReplacement = "\xEF\xBF\xBD";  // U+FFFD
const std::string kParameters = "a red " + kFox +
                                " <lora:style:0.8>, caf\xC3\xA9 & \"quotes\" 'single' ]]> &amp; \xE4\xB8\xAD\n"
                                "Negative prompt: blurry\r\n\tSteps: 20, Seed: 42";

struct Written {
  ImageText text;
  std::string note;
};

// The text read back from a small picture that was written with `text`.
Written round_trip(const ImageText& text, ImageFormat format) {
  const auto file = encode_image(noise(4, 4, 3), format, {.text = text});
  EXPECT_TRUE(file);
  if (!file) return {};
  EXPECT_EQ(decoded(file->bytes).width, 4);
  return {generation_text(text_of(file->bytes)), file->text_note};
}

TEST(ImageText, EveryFormatGivesBackWhatItWasGiven) {
  const std::string json = "{\"prompt\": \"<" + kFox + ">\", \"seed\": 42}";
  for (const ImageFormat format : kFormats) {
    const Written back = round_trip({kParameters, json}, format);
    EXPECT_EQ(back.text.parameters, kParameters);
    EXPECT_EQ(back.text.json, json);
    EXPECT_EQ(back.note, "");
    EXPECT_EQ(round_trip({"", json}, format).text.json, json);
    EXPECT_EQ(round_trip({"x", ""}, format).text.json, "");
  }
}

TEST(ImageText, NoTextMeansNoFields) {
  for (const ImageFormat format : kFormats) {
    EXPECT_TRUE(text_of(encoded(noise(4, 4, 3), format)).empty());
    EXPECT_EQ(encoded(noise(4, 4, 3), format), encoded(noise(4, 4, 3), format, {.text = ImageText{}}));
  }
}

TEST(ImageText, LongTextIsKeptWhereTheFormatHoldsIt) {
  std::string long_text;
  while (long_text.size() < (size_t{1} << 20)) long_text += kParameters;
  for (const size_t size : {size_t{40000}, size_t{65536}, long_text.size()}) {
    const std::string text = storable_text(long_text.substr(0, size));
    for (const ImageFormat format : {ImageFormat::kPng, ImageFormat::kWebp})
      EXPECT_EQ(round_trip({text, text}, format).text.parameters, text) << size;
  }
}

TEST(ImageText, JpegLeavesOutWhatIsTooLongAndSaysSo) {
  const std::string fits(65533 - 11, 'a');  // "parameters" and its zero are 11 bytes
  EXPECT_EQ(round_trip({fits, ""}, ImageFormat::kJpeg).text.parameters, fits);
  EXPECT_EQ(round_trip({fits, ""}, ImageFormat::kJpeg).note, "");

  const Written back = round_trip({fits + "a", "{}"}, ImageFormat::kJpeg);
  EXPECT_EQ(back.text.parameters, "");
  EXPECT_EQ(back.text.json, "{}");
  EXPECT_EQ(back.note, "parameters left out: 65534 bytes, a JPEG holds at most 65533 (PNG and WebP hold more)");
}

TEST(ImageText, OverSixteenMebibytesIsLeftOutAndSaysSo) {
  const std::string huge((size_t{16} << 20) - 1, 'a');
  for (const ImageFormat format : {ImageFormat::kPng, ImageFormat::kWebp}) {
    EXPECT_EQ(round_trip({huge, "b"}, format).text.json, "b");
    const Written back = round_trip({huge, "bc"}, format);
    EXPECT_EQ(back.text.parameters + back.text.json, "");
    EXPECT_EQ(back.note, "parameters and JSON left out: 16777217 bytes together, expected at most 16777216");
  }
}

TEST(ImageText, WhatCannotBeStoredBecomesTheReplacementInEveryFormat) {
  const std::string given =
      std::string("a\0b\x01", 4) + "\xC0\xAF\xE0\x80\xAF|\xED\xA0\x80|\xFF|\xF0\x9F\x98|\xEF\xBF\xBE";
  const std::string r = kReplacement;
  const std::string stored =
      "a" + r + "b" + r + r + r + r + r + r + "|" + r + r + r + "|" + r + "|" + r + r + r + "|" + r;
  EXPECT_EQ(storable_text(given), stored);
  EXPECT_EQ(storable_text(stored), stored);
  for (const ImageFormat format : kFormats) EXPECT_EQ(round_trip({given, ""}, format).text.parameters, stored);
}

TEST(ImageText, JpegCarriesA1111sUserComment) {
  const std::string file = to_text(encoded(noise(4, 4, 3), ImageFormat::kJpeg, {.text = ImageText{"f" + kFox, ""}}));
  EXPECT_NE(file.find(std::string("UNICODE\0\0f\xD8\x3E\xDD\x8A", 14)), std::string::npos);  // big-endian UTF-16
  EXPECT_NE(file.find(std::string("\xFF\xFE\0\x12parameters\0f", 16) + kFox), std::string::npos);
}

TEST(ImageText, UserCommentAloneIsTheGenerationText) {
  EXPECT_EQ(generation_text({{"comment", "x"}, {"UserComment", "a fox"}}).parameters, "a fox");
  EXPECT_EQ(generation_text({{"UserComment", "a fox"}, {"parameters", "a cat"}}).parameters, "a cat");
}

TEST(ImageText, Utf16IsReadInEitherOrder) {
  const std::string big = utf16_from_utf8(kParameters);
  std::string little = big;
  for (size_t i = 0; i < little.size(); i += 2) std::swap(little[i], little[i + 1]);
  EXPECT_EQ(utf8_from_utf16(big), kParameters);
  EXPECT_EQ(utf8_from_utf16(little), kParameters);
  EXPECT_EQ(utf8_from_utf16("\xFF\xFE\x2D\x4E"), "\xE4\xB8\xAD");  // a mark decides where nothing else does
  EXPECT_EQ(utf8_from_utf16("\xFE\xFF\x4E\x2D"), "\xE4\xB8\xAD");
  EXPECT_EQ(utf8_from_utf16(std::string("\0a\xD8\x3E\0b\xDD\x8A\xD8", 9)), "a" + kReplacement + "b" + kReplacement);
}

TEST(ImageText, BytesAreUtf8OrElseLatin1) {
  EXPECT_EQ(text_from_bytes("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(text_from_bytes("caf\xE9"), "caf\xC3\xA9");
}

TEST(Exif, CommentRoundTripAndDamage) {
  const std::string exif = exif_with_user_comment(kParameters);
  EXPECT_EQ(exif_user_comment(exif), kParameters);
  EXPECT_EQ(exif_user_comment(exif.substr(6)), kParameters);  // WebP holds it without the prefix
  EXPECT_EQ(exif_orientation(exif), 1);
  for (size_t length = 0; length < exif.size(); ++length)
    ASSERT_EQ(exif_user_comment(std::string(exif, 0, length)), std::nullopt) << length;
  for (size_t i = 0; i < 64; ++i) {  // all offsets and counts lie here
    for (const char value : {'\0', '\x7F', '\xFF'}) {
      std::string damaged = exif;
      damaged[i] = value;
      exif_user_comment(damaged);  // the sanitizers watch
      EXPECT_EQ(exif_orientation(damaged), 1);
    }
  }
}

TEST(Exif, OtherCharacterCodes) {
  const auto with_code = [](const std::string& code_and_text) {
    std::string exif = exif_with_user_comment("");
    exif.resize(exif.size() - 8);
    exif[6 + 8 + 18 + 2 + 7] = static_cast<char>(code_and_text.size());  // the entry's count
    return exif + code_and_text;
  };
  EXPECT_EQ(exif_user_comment(with_code(std::string("ASCII\0\0\0fox", 11))), "fox");
  EXPECT_EQ(exif_user_comment(with_code(std::string("\0\0\0\0\0\0\0\0fox", 11))), "fox");
  EXPECT_EQ(exif_user_comment(with_code(std::string("JIS\0\0\0\0\0fox", 11))), std::nullopt);
  EXPECT_EQ(exif_user_comment(with_code(std::string(64, '\0'))), std::nullopt);  // room that a camera reserved
}

TEST(Xmp, TextIsEscapedForXml) {
  const std::string packet = xmp_packet({"<a href=\"x\">&amp;'\r\n]]>", ""});
  EXPECT_NE(packet.find(">&lt;a href=&quot;x&quot;&gt;&amp;amp;&apos;&#xD;\n]]&gt;</"), std::string::npos) << packet;
}

TEST(Xmp, OtherProgramsElementsAreRead) {
  const std::string packet =
      "<x:xmpmeta><rdf:Description xmlns:sdcpp=\"urn:a:parameters\" other:parameters=\"no\">"
      "<sdcpp:parameters xml:lang='en'>a &lt;lora:x:1&gt; &#x1F98A;&#65; &unknown; & &#xD800;</sdcpp:parameters>"
      "</rdf:Description></x:xmpmeta>";
  const TextFields expected = {{"parameters", "a <lora:x:1> " + kFox + "A &unknown; & &#xD800;"}};
  EXPECT_EQ(xmp_fields(packet), expected);
}

TEST(Xmp, OtherPacketsAreGivenWhole) {
  for (const std::string packet :
       {"<x:xmpmeta/>", ":parameters", "<a:parameters", "<a:parameters>", "</a:parameters>", ""})
    EXPECT_EQ(xmp_fields(packet), (TextFields{{"XMP", packet}})) << packet;
}

TEST(Pictures, FormatByExtension) {
  EXPECT_EQ(image_format_of("a/b.PNG"), ImageFormat::kPng);
  EXPECT_EQ(image_format_of("b.jpg"), ImageFormat::kJpeg);
  EXPECT_EQ(image_format_of("b.x.JPeG"), ImageFormat::kJpeg);
  EXPECT_EQ(image_format_of("b.webp"), ImageFormat::kWebp);
  for (const char* other : {"", "b", "b.", "png", ".png", "b.gif", "b.png/c"})
    EXPECT_EQ(image_format_of(other), std::nullopt);
}

TEST(Pictures, AreReadByContentNotByName) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "veneer_pictures";
  const Image image = noise(5, 3, 3);
  ASSERT_TRUE(write_file_atomically(folder / "picture.jpg", encoded(image, ImageFormat::kPng)));
  const auto back = read_image(folder / "picture.jpg");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->pixels, image.pixels);

  const auto missing = read_image(folder / "missing.png");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  std::filesystem::remove_all(folder);
}

TEST(Pictures, AFileTooLargeForAPictureIsNotRead) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "veneer_large.png";
  ASSERT_TRUE(write_file_atomically(path, std::string_view("x")));
  std::filesystem::resize_file(path, (uint64_t{1} << 30) + 1);  // a hole: takes no room
  const auto image = read_image(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message.find("expected at most"), std::string::npos) << image.error().message;
}

TEST(Pictures, OtherFilesAreNamed) {
  for (const char* content : {"GIF89a", "<html>", "\x89PN", "RIFF1234WAVE", "\xFF\xD8"}) {
    const auto image = decode_image(to_bytes(content), "a.gif");
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().message, "picture a.gif: is no PNG, JPEG or WebP; convert it to one of these");
    EXPECT_FALSE(read_image_text(to_bytes(content), "a.gif"));
  }
  EXPECT_EQ(decode_image({}, "a.png").error().message, "picture a.png: the file is empty");
}

}  // namespace
}  // namespace veneer::io
