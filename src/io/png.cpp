// PNG: pixels through libspng, text chunks by hand. libspng refuses UTF-8 in tEXt, which other programs of this field
// write and read, and ties text to decoding pixels. Chunk layouts: PNG specification (third edition),
// sections 5.3, 11.3.3.
#include <spng.h>
#include <zlib.h>

#include <cstdlib>
#include <memory>

#include "core/format.h"
#include "io/image_coder.h"
#include "io/image_text.h"

namespace veneer::io {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
constexpr size_t kHeaderEnd = 8 + 12 + 13;  // signature and the IHDR chunk

// Fixed, so that the bytes are. On generated 512x512 pictures this pair writes the smallest file of all that stay under
// 20 ms; higher levels gain below one per cent for twice the time.
constexpr int kCompressionLevel = 2;
constexpr int kFilters = SPNG_FILTER_CHOICE_UP | SPNG_FILTER_CHOICE_AVG;

struct ContextDeleter {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, ContextDeleter>;

Error png_error(std::string_view name, int code) {
  return bad_image(name, concat("damaged PNG: ", spng_strerror(code)));
}

// ---- Chunks

uint32_t big_endian(Bytes bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

uint32_t checksum(const void* data, size_t size) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), size));
}

struct Chunk {
  std::string_view type;
  std::string_view data;
};

// The chunk at bytes[at], moving `at` past it.
Result<Chunk> take_chunk(Bytes bytes, size_t& at, std::string_view name) {
  constexpr size_t kFrame = 12;  // length, type, checksum
  if (bytes.size() - at < kFrame) return bad_image(name, "damaged PNG: the file ends before its last chunk");
  const size_t length = big_endian(bytes.subspan(at));
  if (bytes.size() - at - kFrame < length)
    return bad_image(name,
                     concat("damaged PNG: a chunk at byte ", at, " is ", length, " bytes long, the file ends before"));
  const auto* text = reinterpret_cast<const char*>(bytes.data() + at + 4);
  const Chunk chunk{{text, 4}, {text + 4, length}};
  if (checksum(text, 4 + length) != big_endian(bytes.subspan(at + 8 + length)))
    return bad_image(name, concat("damaged PNG: wrong checksum in the chunk at byte ", at));
  at += kFrame + length;
  return chunk;
}

// Errors: bad_file for a chunk that is cut or damaged, or when the last one is missing.
Status check_chunks(Bytes bytes, std::string_view name) {
  for (size_t at = kSignature.size();;) {
    VENEER_TRY(chunk, take_chunk(bytes, at, name));
    if (chunk.type == "IEND") return {};
  }
}

// ---- Pixels

bool sniff(Bytes bytes) { return starts_with(bytes, kSignature); }

bool has_alpha(spng_ctx* context, const spng_ihdr& header) {
  spng_trns transparency;
  return header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA || header.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA ||
         spng_get_trns(context, &transparency) == 0;
}

Result<Image> decode(Bytes bytes, std::string_view name) {
  VENEER_TRY_STATUS(check_chunks(bytes, name));  // libspng reads no further than the pixels
  const Context context(spng_ctx_new(0));
  if (!context)
    return Error{ErrorCode::kNoMemory, concat("picture ", name, ": no memory to decode it"), std::string(name)};
  spng_set_chunk_limits(context.get(), 2 * kMaxTextBytes, 4 * kMaxTextBytes);  // also bounds what text inflates to
  spng_ihdr header;
  int code = spng_set_png_buffer(context.get(), bytes.data(), bytes.size());
  if (code == 0) code = spng_get_ihdr(context.get(), &header);
  if (code != 0) return png_error(name, code);
  VENEER_TRY_STATUS(check_image_size(header.width, header.height, name));

  const bool alpha = has_alpha(context.get(), header);
  const bool grey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE && !alpha;
  Image image = Image::blank(static_cast<int>(header.width), static_cast<int>(header.height), alpha ? 4 : 3);
  code = spng_decode_image(context.get(), image.pixels.data(), image.pixels.size(),
                           alpha ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8, alpha ? SPNG_DECODE_TRNS : 0);
  if (code != 0) return png_error(name, code);
  return grey ? with_channels(std::move(image), 1) : std::move(image);
}

spng_ihdr header_of(const Image& image) {
  spng_ihdr header{};
  header.width = static_cast<uint32_t>(image.width);
  header.height = static_cast<uint32_t>(image.height);
  header.bit_depth = 8;
  header.color_type = image.channels == 1   ? SPNG_COLOR_TYPE_GRAYSCALE
                      : image.channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR
                                            : SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
  return header;
}

// The whole file without text.
Result<std::vector<std::byte>> encode_pixels(const Image& image) {
  const Context context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (!context) return Error{ErrorCode::kNoMemory, "png: no memory to write the picture", ""};
  spng_ihdr header = header_of(image);
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_set_option(context.get(), SPNG_IMG_COMPRESSION_LEVEL, kCompressionLevel);
  spng_set_option(context.get(), SPNG_FILTER_CHOICE, kFilters);
  int code = spng_set_ihdr(context.get(), &header);
  if (code == 0)
    code =
        spng_encode_image(context.get(), image.pixels.data(), image.pixels.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  size_t size = 0;
  const std::unique_ptr<void, decltype(&std::free)> png(
      code == 0 ? spng_get_png_buffer(context.get(), &size, &code) : nullptr, &std::free);
  if (code != 0) return Error{ErrorCode::kNoMemory, concat("png: writing failed: ", spng_strerror(code)), ""};
  const auto* begin = static_cast<const std::byte*>(png.get());
  return std::vector<std::byte>(begin, begin + size);
}

// ---- Text

void append_big_endian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_big_endian(out, static_cast<uint32_t>(data.size()));
  const size_t begin = out.size();
  out += type;
  out += data;
  append_big_endian(out, checksum(out.data() + begin, out.size() - begin));
}

std::string text_chunks(const ImageText& text) {
  std::string out;
  if (!text.parameters.empty()) append_chunk(out, "tEXt", std::string("parameters\0", 11) + text.parameters);
  // Not compressed (two zeros), no language, no translated keyword.
  if (!text.json.empty()) append_chunk(out, "iTXt", std::string("veneer\0\0\0\0\0", 11) + text.json);
  return out;
}

Result<EncodedImage> encode(const Image& image, const EncodeOptions& options) {
  EncodedImage out;
  VENEER_TRY(pixels, encode_pixels(image));
  out.bytes = std::move(pixels);
  if (!options.text) return out;
  out.text_note = too_long_note(*options.text);
  if (!out.text_note.empty()) return out;
  const std::string chunks = text_chunks(*options.text);
  const auto data = std::as_bytes(std::span(chunks.data(), chunks.size()));
  out.bytes.insert(out.bytes.begin() + kHeaderEnd, data.begin(), data.end());
  return out;
}

// What a zlib stream inflates to. Errors: bad_file when it is damaged, ends early or grows beyond `limit` bytes.
Result<std::string> inflated(std::string_view stream, size_t limit, std::string_view name) {
  z_stream state{};
  state.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stream.data()));
  state.avail_in = static_cast<uInt>(stream.size());  // a chunk is shorter than 4 GiB
  if (inflateInit(&state) != Z_OK) return Error{ErrorCode::kNoMemory, concat("picture ", name, ": no memory"), ""};
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&state, &inflateEnd);
  std::string out;
  int code = Z_OK;
  while (code == Z_OK && out.size() <= limit) {
    char piece[16384];
    state.next_out = reinterpret_cast<Bytef*>(piece);
    state.avail_out = sizeof piece;
    code = inflate(&state, Z_NO_FLUSH);
    out.append(piece, sizeof piece - state.avail_out);
  }
  if (out.size() > limit)
    return bad_image(name, concat("compressed text grows beyond the limit of ", kMaxTextBytes >> 20, " MiB"));
  if (code != Z_STREAM_END) return bad_image(name, "damaged PNG: compressed text does not inflate");
  return out;
}

// The part of `rest` before its first zero byte, moving `rest` past that byte; empty when there is none.
std::optional<std::string_view> take_string(std::string_view& rest) {
  const size_t zero = rest.find('\0');
  if (zero == std::string_view::npos) return std::nullopt;
  const std::string_view head = rest.substr(0, zero);
  rest.remove_prefix(zero + 1);
  return head;
}

bool is_text(const Chunk& chunk) { return chunk.type == "tEXt" || chunk.type == "zTXt" || chunk.type == "iTXt"; }

// tEXt: keyword, zero, text. zTXt: keyword, zero, method, stream. iTXt: keyword, zero, compressed?, method, language,
// zero, translated keyword, zero, text or stream.
Result<TextFields::value_type> parse_text(const Chunk& chunk, size_t limit, std::string_view name) {
  const auto malformed = [&] { return bad_image(name, concat("damaged PNG: malformed ", chunk.type, " chunk")); };
  std::string_view rest = chunk.data;
  const auto keyword = take_string(rest);
  if (!keyword || keyword->empty()) return malformed();
  bool compressed = chunk.type == "zTXt";
  if (compressed) {
    if (!rest.starts_with('\0')) return malformed();
    rest.remove_prefix(1);
  } else if (chunk.type == "iTXt") {
    if (rest.size() < 2 || rest[1] != '\0') return malformed();
    compressed = rest[0] != '\0';
    rest.remove_prefix(2);
    if (!take_string(rest) || !take_string(rest)) return malformed();
  }
  std::string text(compressed ? std::string_view() : rest);
  if (compressed) {
    VENEER_TRY(unpacked, inflated(rest, limit, name));
    text = std::move(unpacked);
  }
  return std::pair(text_from_bytes(*keyword), text_from_bytes(text));
}

Result<TextFields> read_text(Bytes bytes, std::string_view name) {
  TextFields fields;
  size_t left = kMaxTextBytes;
  for (size_t at = kSignature.size();;) {
    VENEER_TRY(chunk, take_chunk(bytes, at, name));
    if (chunk.type == "IEND") return fields;
    if (!is_text(chunk)) continue;
    VENEER_TRY(field, parse_text(chunk, left, name));
    if (field.second.size() > left)
      return bad_image(name, concat("holds more than ", kMaxTextBytes >> 20, " MiB of text"));
    left -= field.second.size();
    fields.push_back(std::move(field));
  }
}

}  // namespace

const ImageCoder kPngCoder = {ImageFormat::kPng, {".png", ""}, sniff, decode, encode, read_text};

}  // namespace veneer::io
