// Pictures whatever their format: finding the format, limits, channels. Knows no format's layout.
#include "io/image.h"

#include <algorithm>
#include <cstring>

#include "core/files.h"
#include "core/format.h"
#include "io/image_coder.h"
#include "io/image_text.h"

namespace veneer::io {
namespace {

constexpr std::array<const ImageCoder*, 3> kCoders = {&kPngCoder, &kJpegCoder, &kWebpCoder};
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;  // more than any picture within the limits needs

Result<const ImageCoder*> coder_for(std::span<const std::byte> bytes, std::string_view name) {
  for (const ImageCoder* coder : kCoders) {
    if (coder->sniff(bytes)) return coder;
  }
  return bad_image(name, bytes.empty() ? "the file is empty" : "is no PNG, JPEG or WebP; convert it to one of these");
}

uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((299u * rgb[0] + 587u * rgb[1] + 114u * rgb[2] + 500u) / 1000u);
}

void convert_pixel(const uint8_t* in, int from, uint8_t* out, int to) {
  if (to == 1) {
    out[0] = from == 1 ? in[0] : luma(in);
    return;
  }
  for (int c = 0; c < 3; ++c) out[c] = from == 1 ? in[0] : in[c];
  if (to == 4) out[3] = 255;
}

}  // namespace

Image Image::blank(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  image.pixels.resize(image.row_bytes() * static_cast<size_t>(height));
  return image;
}

Error bad_image(std::string_view name, std::string_view fault) {
  return {ErrorCode::kBadFile, concat("picture ", name, ": ", fault), std::string(name)};
}

Status check_image_size(uint64_t width, uint64_t height, std::string_view name) {
  if (width == 0 || height == 0) return bad_image(name, concat("has no pixels (", width, "x", height, ")"));
  if (width > kMaxImageSide || height > kMaxImageSide)
    return bad_image(name, concat("is ", width, "x", height, ", expected at most ", kMaxImageSide, " a side"));
  if (width * height > kMaxImagePixels)
    return bad_image(name, concat("is ", width, "x", height, ", expected at most ", kMaxImagePixels, " pixels"));
  return {};
}

std::string too_long_note(const ImageText& text) {
  const uint64_t size = text.parameters.size() + text.json.size();
  if (size <= kMaxTextBytes) return "";
  return concat("parameters and JSON left out: ", size, " bytes together, expected at most ", kMaxTextBytes);
}

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::optional<ImageFormat> image_format_of(const std::filesystem::path& path) {
  const std::string extension = lower_ascii(path.extension().string());
  if (extension.empty()) return std::nullopt;
  for (const ImageCoder* coder : kCoders) {
    if (std::ranges::count(coder->extensions, extension) > 0) return coder->format;
  }
  return std::nullopt;
}

Result<Image> decode_image(std::span<const std::byte> bytes, std::string_view name, int channels) {
  VENEER_CHECK(channels == 0 || channels == 1 || channels == 3 || channels == 4);
  VENEER_TRY(coder, coder_for(bytes, name));
  VENEER_TRY(image, coder->decode(bytes, name));
  return channels == 0 ? std::move(image) : with_channels(std::move(image), channels);
}

Result<Image> read_image(const std::filesystem::path& path, int channels) {
  std::error_code unknown_size;  // open() below tells what is wrong with the file
  const uint64_t size = std::filesystem::file_size(path, unknown_size);
  if (!unknown_size && size > kMaxFileBytes)
    return bad_image(path.string(),
                     concat("holds ", bytes_text(size), ", expected at most ", bytes_text(kMaxFileBytes)));
  VENEER_TRY(file, MappedFile::open(path, MappedFile::Mode::kRead));
  return decode_image(file->bytes(), path.string(), channels);
}

Result<EncodedImage> encode_image(const Image& image, ImageFormat format, const EncodeOptions& options) {
  VENEER_CHECK(image.width > 0 && image.height > 0);
  VENEER_CHECK(image.channels == 1 || image.channels == 3 || image.channels == 4);
  VENEER_CHECK(image.pixels.size() == image.row_bytes() * static_cast<size_t>(image.height));
  if (options.quality < 1 || options.quality > 100)
    return Error{ErrorCode::kUsage, concat("picture quality: expected 1 to 100, found ", options.quality), "quality"};
  EncodeOptions storable = options;
  if (storable.text) {
    storable.text->parameters = storable_text(storable.text->parameters);
    storable.text->json = storable_text(storable.text->json);
  }
  const auto coder = std::ranges::find(kCoders, format, [](const ImageCoder* c) { return c->format; });
  return (*coder)->encode(image, storable);
}

Result<TextFields> read_image_text(std::span<const std::byte> bytes, std::string_view name) {
  VENEER_TRY(coder, coder_for(bytes, name));
  return coder->read_text(bytes, name);
}

ImageText generation_text(const TextFields& fields) {
  const auto find = [&](std::string_view key) {
    const auto field = std::ranges::find(fields, key, &TextFields::value_type::first);
    return field == fields.end() ? std::string() : field->second;
  };
  ImageText text{find("parameters"), find("veneer")};
  if (text.parameters.empty()) text.parameters = find("UserComment");
  return text;
}

Image with_channels(Image image, int channels) {
  if (image.channels == channels) return image;
  Image out = Image::blank(image.width, image.height, channels);
  const uint8_t* in = image.pixels.data();
  for (size_t i = 0; i < out.pixels.size(); i += static_cast<size_t>(channels)) {
    convert_pixel(in, image.channels, &out.pixels[i], channels);
    in += image.channels;
  }
  return out;
}

}  // namespace veneer::io
