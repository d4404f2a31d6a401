// gzip by way of zlib.
#include "text/gzip.h"

#include <zlib.h>

#include <string_view>

#include "core/files.h"
#include "core/format.h"

namespace veneer::text {
namespace {

constexpr std::string_view kMagic = "\x1f\x8b";
constexpr int kGzipWindow = 16 + MAX_WBITS;  // 16 asks zlib for the gzip framing and its checksum

class Inflater {
 public:
  explicit Inflater(std::string& packed) {
    stream_.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    ready_ = inflateInit2(&stream_, kGzipWindow) == Z_OK;
  }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Z_OK while there is more, Z_STREAM_END at the end, anything else when the data are damaged or cut.
  int next(std::string& out) {
    if (!ready_) return Z_MEM_ERROR;
    char block[1 << 14];
    stream_.next_out = reinterpret_cast<Bytef*>(block);
    stream_.avail_out = sizeof block;
    const int state = inflate(&stream_, Z_NO_FLUSH);
    out.append(block, sizeof block - stream_.avail_out);
    return state;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace

Result<std::string> read_plain_or_gzip(const std::filesystem::path& path, uint32_t limit) {
  VENEER_TRY(packed, read_text_file(path, limit));
  if (!std::string_view(packed).starts_with(kMagic)) return packed;
  Inflater inflater(packed);
  std::string text;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    state = inflater.next(text);
    if (state != Z_OK && state != Z_STREAM_END)
      return Error{ErrorCode::kBadFile,
                   concat(path.string(), ": damaged or cut gzip data after ", text.size(), " unpacked bytes"),
                   path.string()};
    if (text.size() > limit)
      return Error{ErrorCode::kBadFile, concat(path.string(), ": unpacks to more than ", limit, " bytes"),
                   path.string()};
  }
  return text;
}

}  // namespace veneer::text
