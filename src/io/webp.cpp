// WebP through libwebp, its metadata through libwebpmux: XMP is written and read, EXIF is read.
// Layout: WebP container specification.
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <memory>

#include "core/format.h"
#include "io/exif.h"
#include "io/image_coder.h"
#include "io/image_text.h"
#include "io/xmp.h"

namespace veneer::io {
namespace {

using Bytes = std::span<const std::byte>;

struct MuxDeleter {
  void operator()(WebPMux* mux) const { WebPMuxDelete(mux); }
};
using Mux = std::unique_ptr<WebPMux, MuxDeleter>;

const uint8_t* raw(Bytes bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

bool sniff(Bytes bytes) {
  return starts_with(bytes, "RIFF") && bytes.size() >= 12 && starts_with(bytes.subspan(8), "WEBP");
}

// libwebp refuses cut files too, but cannot say why.
Status check_length(Bytes bytes, std::string_view name) {
  uint64_t length = 0;
  for (size_t i = 0; i < 4; ++i) length |= std::to_integer<uint64_t>(bytes[4 + i]) << (8 * i);
  if (length + 8 <= bytes.size()) return {};
  return bad_image(name, concat("damaged WebP: ", length + 8, " bytes long by its header, found ", bytes.size()));
}

// The metadata chunk "EXIF" or "XMP ", or empty. It lies in the memory of `mux`.
std::string_view metadata(const Mux& mux, const char* chunk) {
  WebPData data{};
  if (!mux || WebPMuxGetChunk(mux.get(), chunk, &data) != WEBP_MUX_OK) return {};
  return {reinterpret_cast<const char*>(data.bytes), data.size};
}

Mux open_mux(Bytes bytes) {
  const WebPData data{raw(bytes), bytes.size()};
  return Mux(WebPMuxCreate(&data, 0));
}

Result<Image> decode(Bytes bytes, std::string_view name) {
  VENEER_TRY_STATUS(check_length(bytes, name));
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(raw(bytes), bytes.size(), &features) != VP8_STATUS_OK)
    return bad_image(name, "damaged WebP: its header cannot be read");
  VENEER_TRY_STATUS(
      check_image_size(static_cast<uint64_t>(features.width), static_cast<uint64_t>(features.height), name));
  if (features.has_animation)
    return Error{ErrorCode::kUnsupported, concat("picture ", name, ": is an animated WebP; give one still picture"),
                 std::string(name)};
  Image image = Image::blank(features.width, features.height, features.has_alpha ? 4 : 3);
  const auto decode_into = features.has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode_into(raw(bytes), bytes.size(), image.pixels.data(), image.pixels.size(),
                  static_cast<int>(image.row_bytes())) == nullptr)
    return bad_image(name, "damaged WebP: its pixels cannot be decoded");
  return upright(std::move(image), exif_orientation(metadata(open_mux(bytes), "EXIF")));
}

Result<TextFields> read_text(Bytes bytes, std::string_view name) {
  VENEER_TRY_STATUS(check_length(bytes, name));
  const Mux mux = open_mux(bytes);
  if (!mux) return bad_image(name, "damaged WebP: its chunks cannot be read");
  TextFields fields;
  if (const auto xmp = metadata(mux, "XMP "); !xmp.empty()) fields = xmp_fields(xmp);
  if (auto comment = exif_user_comment(metadata(mux, "EXIF"))) fields.emplace_back("UserComment", *std::move(comment));
  return fields;
}

struct Picture : WebPPicture {
  WebPMemoryWriter output;
  Picture() {
    WebPPictureInit(this);
    WebPMemoryWriterInit(&output);
    writer = WebPMemoryWrite;
    custom_ptr = &output;
  }
  ~Picture() {
    WebPPictureFree(this);
    WebPMemoryWriterClear(&output);
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
};

bool import_pixels(Picture& picture, const Image& image) {
  picture.width = image.width;
  picture.height = image.height;
  const auto import = image.channels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
  return import(&picture, image.pixels.data(), static_cast<int>(image.row_bytes())) != 0;
}

Error write_error(const Picture& picture, const Image& image) {
  const std::string what = concat("webp: writing ", image.width, "x", image.height, " pixels ");
  if (picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY || picture.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY)
    return {ErrorCode::kNoMemory, what + "failed: no memory", ""};
  const int code = picture.error_code;
  return {ErrorCode::kUnsupported, concat(what, "failed with libwebp's error ", code, "; write a png"), ""};
}

// The bare picture. `image` is RGB or RGBA.
Result<std::vector<std::byte>> encode_pixels(const Image& image, int quality) {
  WebPConfig config;
  WebPConfigInit(&config);
  config.quality = static_cast<float>(quality);
  config.lossless = quality == 100;
  if (config.lossless) config.quality = 75.0f;  // effort, here: the library's default
  config.exact = 1;                             // keep the colours under transparent pixels
  Picture picture;
  picture.use_argb = config.lossless;
  if (!import_pixels(picture, image) || !WebPEncode(&config, &picture)) return write_error(picture, image);
  const auto* begin = reinterpret_cast<const std::byte*>(picture.output.mem);
  return std::vector<std::byte>(begin, begin + picture.output.size);
}

Result<std::vector<std::byte>> with_xmp(Bytes bytes, const std::string& packet) {
  const Mux mux = open_mux(bytes);
  const WebPData chunk{reinterpret_cast<const uint8_t*>(packet.data()), packet.size()};
  WebPData assembled{};
  const std::unique_ptr<WebPData, decltype(&WebPDataClear)> clear(&assembled, &WebPDataClear);
  if (!mux || WebPMuxSetChunk(mux.get(), "XMP ", &chunk, 0) != WEBP_MUX_OK ||
      WebPMuxAssemble(mux.get(), &assembled) != WEBP_MUX_OK)
    return Error{ErrorCode::kNoMemory, "webp: no memory to add the XMP packet", ""};
  const auto* begin = reinterpret_cast<const std::byte*>(assembled.bytes);
  return std::vector<std::byte>(begin, begin + assembled.size);
}

Result<EncodedImage> encode(const Image& image, const EncodeOptions& options) {
  if (image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION)
    return Error{ErrorCode::kUnsupported,
                 concat("webp: holds at most ", WEBP_MAX_DIMENSION, " pixels a side, the picture is ", image.width, "x",
                        image.height, "; write a png"),
                 ""};
  EncodedImage out;
  VENEER_TRY(pixels, encode_pixels(image.channels == 1 ? with_channels(image, 3) : image, options.quality));
  out.bytes = std::move(pixels);
  if (!options.text || (options.text->parameters.empty() && options.text->json.empty())) return out;
  out.text_note = too_long_note(*options.text);
  if (!out.text_note.empty()) return out;
  VENEER_TRY(whole, with_xmp(out.bytes, xmp_packet(*options.text)));
  out.bytes = std::move(whole);
  return out;
}

}  // namespace

const ImageCoder kWebpCoder = {ImageFormat::kWebp, {".webp", ""}, sniff, decode, encode, read_text};

}  // namespace veneer::io
