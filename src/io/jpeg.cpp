// JPEG through libjpeg-turbo. libjpeg reports errors by a call that must not return; here it jumps back into guarded(),
// and no frame in between holds an object with a destructor. Comments and EXIF carry the text.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// In this order: jpeglib.h wants FILE, and the numbers in jerror.h depend on what jpeglib.h defines.
#include <jpeglib.h>

#include <jerror.h>

#include "core/format.h"
#include "io/exif.h"
#include "io/image_coder.h"
#include "io/image_text.h"

namespace veneer::io {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kExifPrefix("Exif\0\0", 6);
constexpr size_t kMaxMarkerBytes = 65533;  // a 16-bit length that counts itself
constexpr int kMaxScans = 500;             // a small progressive file can demand hours with thousands of scans
constexpr int kExifMarker = JPEG_APP0 + 1;

// ---- Errors

struct ErrorExit : jpeg_error_mgr {
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* exit = static_cast<ErrorExit*>(info->err);
  exit->format_message(info, exit->message);
  std::longjmp(exit->escape, 1);
}

// libjpeg calls it a warning when it makes pixels up. A picture with a grey half is no picture, so all warnings are
// errors but those that leave the pixels as they were drawn.
void judge_warning(j_common_ptr info, int level) {
  if (level >= 0) return;  // a trace message
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL: return;
    default: leave(info);
  }
}

void be_silent(j_common_ptr) {}

void install(ErrorExit& errors, jpeg_error_mgr*& slot) {
  slot = jpeg_std_error(&errors);
  errors.error_exit = leave;
  errors.emit_message = judge_warning;
  errors.output_message = be_silent;
}

void limit_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  auto* exit = static_cast<ErrorExit*>(info->err);
  std::snprintf(exit->message, sizeof exit->message, "more than %d scans", kMaxScans);
  std::longjmp(exit->escape, 1);
}

// Runs `step`; false when libjpeg gave up inside. Nothing with a destructor may live in `step` or in what it calls.
template <typename Step>
bool guarded(ErrorExit& errors, const Step& step) {
  if (setjmp(errors.escape) != 0) return false;
  step();
  return true;
}

// ---- Reading

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {
    install(errors_, info_.err);
    progress_.progress_monitor = limit_scans;
  }
  ~Reader() { jpeg_destroy_decompress(&info_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Reads everything before the pixels.
  bool read_header() {
    return guarded(errors_, [this] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_save_markers(&info_, JPEG_COM, 0xFFFF);
      jpeg_save_markers(&info_, kExifMarker, 0xFFFF);
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      jpeg_read_header(&info_, TRUE);
    });
  }

  bool read_pixels(Image& image) {
    return guarded(errors_, [this, &image] {
      info_.out_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_start_decompress(&info_);
      while (info_.output_scanline < info_.output_height) {
        JSAMPROW row = image.row(static_cast<int>(info_.output_scanline));
        jpeg_read_scanlines(&info_, &row, 1);
      }
      jpeg_finish_decompress(&info_);
    });
  }

  const jpeg_decompress_struct& info() const { return info_; }
  std::string fault() const { return concat("damaged JPEG: ", errors_.message); }

 private:
  Bytes bytes_;
  ErrorExit errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
};

bool sniff(Bytes bytes) { return starts_with(bytes, "\xFF\xD8\xFF"); }

std::string_view data_of(const jpeg_marker_struct& marker) {
  return {reinterpret_cast<const char*>(marker.data), marker.data_length};
}

int orientation_of(const jpeg_decompress_struct& info) {
  for (const auto* marker = info.marker_list; marker != nullptr; marker = marker->next) {
    if (marker->marker == kExifMarker && data_of(*marker).starts_with(kExifPrefix))
      return exif_orientation(data_of(*marker));
  }
  return 1;
}

Result<Image> decode(Bytes bytes, std::string_view name) {
  Reader reader(bytes);
  if (!reader.read_header()) return bad_image(name, reader.fault());
  const jpeg_decompress_struct& info = reader.info();
  VENEER_TRY_STATUS(check_image_size(info.image_width, info.image_height, name));
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK)
    return Error{ErrorCode::kUnsupported, concat("picture ", name, ": is a CMYK JPEG; convert it to RGB"),
                 std::string(name)};
  Image image = Image::blank(static_cast<int>(info.image_width), static_cast<int>(info.image_height),
                             info.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3);
  const int orientation = orientation_of(info);  // reading the pixels to their end frees the markers
  if (!reader.read_pixels(image)) return bad_image(name, reader.fault());
  return upright(std::move(image), orientation);
}

// "key", a zero byte, the text; or a comment of anybody's.
TextFields::value_type parse_comment(std::string_view comment) {
  const size_t zero = comment.find('\0');
  if (zero == 0 || zero >= comment.size() - 1) return {"comment", text_from_bytes(comment.substr(0, zero))};
  return {text_from_bytes(comment.substr(0, zero)), text_from_bytes(comment.substr(zero + 1))};
}

Result<TextFields> read_text(Bytes bytes, std::string_view name) {
  Reader reader(bytes);
  if (!reader.read_header()) return bad_image(name, reader.fault());
  TextFields fields;
  for (const auto* marker = reader.info().marker_list; marker != nullptr; marker = marker->next) {
    if (marker->marker == JPEG_COM) {
      fields.push_back(parse_comment(data_of(*marker)));
    } else if (data_of(*marker).starts_with(kExifPrefix)) {
      if (auto comment = exif_user_comment(data_of(*marker))) fields.emplace_back("UserComment", *std::move(comment));
    }
  }
  return fields;
}

// ---- Writing

struct Marker {
  int type;
  std::string data;
};

// Collects what libjpeg writes. (jpeg_mem_dest leaves a freed pointer behind when an error strikes halfway.)
class Sink : public jpeg_destination_mgr {
 public:
  Sink() {
    init_destination = [](j_compress_ptr info) { of(info).grow(info); };
    empty_output_buffer = [](j_compress_ptr info) {
      of(info).size_ = of(info).capacity_;  // libjpeg calls this when all is full, whatever free_in_buffer says
      of(info).grow(info);
      return boolean{TRUE};
    };
    term_destination = [](j_compress_ptr info) { of(info).size_ = of(info).capacity_ - of(info).free_in_buffer; };
  }
  ~Sink() { std::free(data_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  Bytes bytes() const { return {reinterpret_cast<const std::byte*>(data_), size_}; }

 private:
  static Sink& of(j_compress_ptr info) { return *static_cast<Sink*>(info->dest); }

  void grow(j_compress_ptr info) {
    const size_t wanted = capacity_ == 0 ? size_t{1} << 16 : 2 * capacity_;
    auto* grown = static_cast<JOCTET*>(std::realloc(data_, wanted));
    if (grown == nullptr) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
    data_ = grown;
    capacity_ = wanted;
    next_output_byte = data_ + size_;
    free_in_buffer = capacity_ - size_;
  }

  JOCTET* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

class Writer {
 public:
  Writer() { install(errors_, info_.err); }
  ~Writer() { jpeg_destroy_compress(&info_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Full chroma resolution (4:4:4): drawn pictures have thin coloured edges, which 4:2:0 smears at every quality; it
  // costs about a sixth more bytes.
  bool write(const Image& image, int quality, const std::vector<Marker>& markers) {
    return guarded(errors_, [&] {
      jpeg_create_compress(&info_);
      info_.dest = &sink_;
      info_.image_width = static_cast<JDIMENSION>(image.width);
      info_.image_height = static_cast<JDIMENSION>(image.height);
      info_.input_components = image.channels;
      info_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_set_defaults(&info_);
      jpeg_set_quality(&info_, quality, TRUE);
      info_.comp_info[0].h_samp_factor = 1;
      info_.comp_info[0].v_samp_factor = 1;
      info_.optimize_coding = TRUE;
      jpeg_start_compress(&info_, TRUE);
      for (const Marker& marker : markers)
        jpeg_write_marker(&info_, marker.type, reinterpret_cast<const JOCTET*>(marker.data.data()),
                          static_cast<unsigned>(marker.data.size()));
      while (info_.next_scanline < info_.image_height) {
        auto* row = const_cast<JSAMPROW>(image.row(static_cast<int>(info_.next_scanline)));
        jpeg_write_scanlines(&info_, &row, 1);
      }
      jpeg_finish_compress(&info_);
    });
  }

  Bytes bytes() const { return sink_.bytes(); }
  const char* fault() const { return errors_.message; }

 private:
  ErrorExit errors_;
  jpeg_compress_struct info_{};
  Sink sink_;
};

// Adds `key`, zero, text as a comment, or says in `note` why not.
void add_comment(std::string_view key, std::string_view text, std::vector<Marker>& markers, std::string& note) {
  if (text.empty()) return;
  std::string data = std::string(key) + '\0' + std::string(text);
  if (data.size() <= kMaxMarkerBytes) {
    markers.push_back({JPEG_COM, std::move(data)});
    return;
  }
  if (!note.empty()) note += "; ";
  note += concat(key, " left out: ", data.size(), " bytes, a JPEG holds at most ", kMaxMarkerBytes,
                 " (PNG and WebP hold more)");
}

std::vector<Marker> markers_for(const ImageText& text, std::string& note) {
  std::vector<Marker> markers;
  std::string exif = exif_with_user_comment(text.parameters);
  const bool fits =
      exif.size() <= kMaxMarkerBytes;  // UTF-16 doubles most text: the comment below may fit where this does not
  if (!text.parameters.empty() && fits) markers.push_back({kExifMarker, std::move(exif)});
  add_comment("parameters", text.parameters, markers, note);
  add_comment("veneer", text.json, markers, note);
  return markers;
}

Result<EncodedImage> encode(const Image& image, const EncodeOptions& options) {
  EncodedImage out;
  std::vector<Marker> markers;
  if (options.text) markers = markers_for(*options.text, out.text_note);
  Writer writer;
  if (!writer.write(image.channels == 4 ? with_channels(image, 3) : image, options.quality, markers))
    return Error{ErrorCode::kUnsupported,
                 concat("jpeg: writing ", image.width, "x", image.height, " failed: ", writer.fault()), ""};
  out.bytes.assign(writer.bytes().begin(), writer.bytes().end());
  return out;
}

}  // namespace

const ImageCoder kJpegCoder = {ImageFormat::kJpeg, {".jpg", ".jpeg"}, sniff, decode, encode, read_text};

}  // namespace veneer::io
