// Zip directories: the end record is looked for from the end of the file, the directory is read through, and each entry
// is held against its local header.
#include "io/zip.h"

#include <algorithm>
#include <vector>

#include "io/byte_reader.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

constexpr std::string_view kLocalSign = "PK\x03\x04";
constexpr std::string_view kEntrySign = "PK\x01\x02";
constexpr std::string_view kEndSign = "PK\x05\x06";
constexpr std::string_view kEnd64Sign = "PK\x06\x06";
constexpr std::string_view kLocator64Sign = "PK\x06\x07";
constexpr size_t kEndBytes = 22;
constexpr size_t kLocator64Bytes = 20;
constexpr size_t kLongestComment = 0xFFFF;
constexpr uint32_t kSeeZip64 = 0xFFFFFFFF;  // the true number is in the extra field
constexpr uint16_t kZip64Field = 1;
constexpr uint16_t kEncrypted = 1;  // flag

struct Directory {
  uint64_t entries = 0;  // as promised
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

// One entry as the directory has it.
struct Record {
  std::string_view name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint64_t packed_bytes = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // of the local header
};

// A run of the file that belongs to one entry, its local header included.
struct Run {
  uint64_t begin, end;
  std::string_view name;
};

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name) {}
  Result<ZipEntries> run();

 private:
  template <typename... Parts>
  Error bad(const Parts&... what) const {
    return {ErrorCode::kBadFile, concat(name_, ": ", what...), std::string(name_)};
  }
  template <typename... Parts>
  Error unsupported(const Parts&... what) const {
    return {ErrorCode::kUnsupported, concat(name_, ": ", what...), std::string(name_)};
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(file_.data()), file_.size()}; }
  // A reader of [offset, offset + bytes) of the file.
  Result<ByteReader> reader_at(uint64_t offset, uint64_t bytes) const;

  Result<size_t> find_end() const;
  Result<Directory> read_end() const;
  Result<Directory> read_end64(size_t locator) const;
  Result<Record> read_record(ByteReader& in) const;
  Status read_zip64_field(std::string_view extra, Record& record) const;
  Result<std::span<const std::byte>> bytes_of(const Record& record);
  Status check_runs();

  std::span<const std::byte> file_;
  std::string_view name_;
  std::vector<Run> runs_;
};

Result<ByteReader> ZipReader::reader_at(uint64_t offset, uint64_t bytes) const {
  if (offset > file_.size() || bytes > file_.size() - offset)
    return bad("the zip archive points to ", bytes, " bytes at byte ", offset, ", found ", file_.size(),
               " in all; the file is damaged or cut short, download it again");
  return ByteReader(file_.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes)), name_);
}

// The end record's comment fills the file; a sign inside the comment does not fit that.
Result<size_t> ZipReader::find_end() const {
  const size_t lowest = file_.size() - std::min(file_.size(), kEndBytes + kLongestComment);
  for (size_t at = file_.size(); at-- > lowest;) {
    if (file_.size() - at < kEndBytes || !text().substr(at).starts_with(kEndSign)) continue;
    const size_t comment = std::to_integer<size_t>(file_[at + 20]) | std::to_integer<size_t>(file_[at + 21]) << 8;
    if (comment == file_.size() - at - kEndBytes) return at;
  }
  return bad("the zip archive has no directory at its end; the file is cut short, download it again");
}

Result<Directory> ZipReader::read_end() const {
  VENEER_TRY(end, find_end());
  if (end >= kLocator64Bytes && text().substr(end - kLocator64Bytes).starts_with(kLocator64Sign))
    return read_end64(end - kLocator64Bytes);
  VENEER_TRY(in, reader_at(end + kEndSign.size(), kEndBytes - kEndSign.size()));
  VENEER_TRY(disk, in.number<uint16_t>());
  VENEER_TRY(first_disk, in.number<uint16_t>());
  VENEER_TRY(here, in.number<uint16_t>());
  VENEER_TRY(entries, in.number<uint16_t>());
  VENEER_TRY(bytes, in.number<uint32_t>());
  VENEER_TRY(offset, in.number<uint32_t>());
  if (disk != 0 || first_disk != 0 || here != entries)
    return unsupported("is one of several files of a zip archive; join them first");
  return Directory{entries, bytes, offset};
}

Result<Directory> ZipReader::read_end64(size_t locator) const {
  VENEER_TRY(place, reader_at(locator + kLocator64Sign.size(), kLocator64Bytes - kLocator64Sign.size()));
  VENEER_TRY(disk, place.number<uint32_t>());
  VENEER_TRY(position, place.number<uint64_t>());
  constexpr uint64_t kEnd64Bytes = 56;
  VENEER_TRY(in, reader_at(position, kEnd64Bytes));
  VENEER_TRY(sign, in.text(kEnd64Sign.size()));
  if (sign != kEnd64Sign) return bad("the zip archive has no directory where its end says; the file is damaged");
  VENEER_TRY_STATUS(in.run(8 + 2 + 2));
  VENEER_TRY(this_disk, in.number<uint32_t>());
  VENEER_TRY(first_disk, in.number<uint32_t>());
  VENEER_TRY(here, in.number<uint64_t>());
  VENEER_TRY(entries, in.number<uint64_t>());
  VENEER_TRY(bytes, in.number<uint64_t>());
  VENEER_TRY(offset, in.number<uint64_t>());
  if (disk != 0 || this_disk != 0 || first_disk != 0 || here != entries)
    return unsupported("is one of several files of a zip archive; join them first");
  return Directory{entries, bytes, offset};
}

Result<Record> ZipReader::read_record(ByteReader& in) const {
  Record record;
  VENEER_TRY(sign, in.text(kEntrySign.size()));
  if (sign != kEntrySign) return bad("the zip archive's directory is damaged; download the file again");
  VENEER_TRY_STATUS(in.run(2 + 2));
  VENEER_TRY(flags, in.number<uint16_t>());
  VENEER_TRY(method, in.number<uint16_t>());
  VENEER_TRY_STATUS(in.run(4 + 4));
  VENEER_TRY(packed_bytes, in.number<uint32_t>());
  VENEER_TRY(bytes, in.number<uint32_t>());
  VENEER_TRY(name_bytes, in.number<uint16_t>());
  VENEER_TRY(extra_bytes, in.number<uint16_t>());
  VENEER_TRY(comment_bytes, in.number<uint16_t>());
  VENEER_TRY_STATUS(in.run(2 + 2 + 4));
  VENEER_TRY(offset, in.number<uint32_t>());
  VENEER_TRY(name, in.text(name_bytes));
  VENEER_TRY(extra, in.text(extra_bytes));
  VENEER_TRY_STATUS(in.run(comment_bytes));
  record = {name, flags, method, packed_bytes, bytes, offset};
  VENEER_TRY_STATUS(read_zip64_field(extra, record));
  return record;
}

// The field holds only those numbers that the record has no room for, in this order.
Status ZipReader::read_zip64_field(std::string_view extra, Record& record) const {
  ByteReader in(std::as_bytes(std::span(extra.data(), extra.size())), name_);
  while (in.left() >= 4) {
    VENEER_TRY(id, in.number<uint16_t>());
    VENEER_TRY(size, in.number<uint16_t>());
    VENEER_TRY(content, in.run(size));
    if (id != kZip64Field) continue;
    ByteReader field(content, name_);
    for (uint64_t* number : {&record.bytes, &record.packed_bytes, &record.offset}) {
      if (*number != kSeeZip64) continue;
      VENEER_TRY(value, field.number<uint64_t>());
      *number = value;
    }
  }
  return {};
}

Result<std::span<const std::byte>> ZipReader::bytes_of(const Record& record) {
  const std::string name = printable(record.name);
  if (record.flags & kEncrypted) return unsupported("the entry ", name, " is encrypted; unpack the archive first");
  if (record.method != 0)
    return unsupported("the entry ", name, " is compressed (method ", record.method,
                       "), expected it stored; unpack the archive or save the model again");
  if (record.packed_bytes != record.bytes)
    return bad("the entry ", name, " is stored as it is, but its sizes are ", record.packed_bytes, " and ",
               record.bytes, "; the file is damaged");
  constexpr uint64_t kLocalBytes = 30;
  VENEER_TRY(in, reader_at(record.offset, kLocalBytes));
  VENEER_TRY(sign, in.text(kLocalSign.size()));
  if (sign != kLocalSign) return bad("the entry ", name, " is not where the directory says; the file is damaged");
  VENEER_TRY_STATUS(in.run(2 + 2 + 2 + 4 + 4 + 4 + 4));
  VENEER_TRY(name_bytes, in.number<uint16_t>());
  VENEER_TRY(extra_bytes, in.number<uint16_t>());
  const uint64_t begin = record.offset + kLocalBytes + name_bytes + extra_bytes;
  VENEER_TRY(named, reader_at(record.offset + kLocalBytes, name_bytes));
  VENEER_TRY(local_name, named.text(name_bytes));
  if (local_name != record.name)
    return bad("the entry ", name, " is called ", printable(local_name), " where it lies; the file is damaged");
  VENEER_TRY(content, reader_at(begin, record.bytes));
  runs_.push_back({record.offset, begin + record.bytes, record.name});
  return content.run(record.bytes);
}

Status ZipReader::check_runs() {
  std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < runs_.size(); ++i)
    if (runs_[i].begin < runs_[i - 1].end)
      return bad("the entries ", printable(runs_[i - 1].name), " and ", printable(runs_[i].name),
                 " share bytes; the file is damaged");
  return {};
}

Result<ZipEntries> ZipReader::run() {
  VENEER_TRY(directory, read_end());
  VENEER_TRY(in, reader_at(directory.offset, directory.bytes));
  ZipEntries entries;
  while (in.left() > 0) {
    VENEER_TRY(record, read_record(in));
    VENEER_TRY(bytes, bytes_of(record));
    if (!entries.emplace(record.name, bytes).second)
      return bad("the entry ", printable(record.name), " occurs twice; the file is damaged");
  }
  if (entries.size() != directory.entries)
    return bad("the zip archive promises ", directory.entries, " entries, found ", entries.size(),
               "; the file is damaged");
  VENEER_TRY_STATUS(check_runs());
  return entries;
}

}  // namespace

bool is_zip(std::span<const std::byte> file) {
  return file.size() >= kLocalSign.size() &&
         std::string_view(reinterpret_cast<const char*>(file.data()), kLocalSign.size()) == kLocalSign;
}

Result<ZipEntries> read_zip(std::span<const std::byte> file, std::string_view name) {
  return ZipReader(file, name).run();
}

}  // namespace veneer::io
