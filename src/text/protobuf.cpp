// The wire format: a key (field number and kind of value) as a varint, then the value.
#include "text/protobuf.h"

namespace veneer::text {
namespace {

enum class Wire : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

}  // namespace

Result<std::string_view> ProtobufReader::take(uint64_t count) {
  if (count > rest_.size())
    return Error{ErrorCode::kBadFile,
                 concat(name_, ": ends too early: expected ", count, " bytes, found ", rest_.size(),
                        "; the file is damaged or no sentencepiece model"),
                 name_};
  const std::string_view taken = rest_.substr(0, static_cast<size_t>(count));
  rest_.remove_prefix(taken.size());
  return taken;
}

// Seven bits a byte, the lowest first; the highest bit says that another byte follows.
Result<uint64_t> ProtobufReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    VENEER_TRY(byte, take(1));
    const auto bits = static_cast<unsigned char>(byte[0]);
    value |= uint64_t{bits & 0x7fu} << shift;
    if (bits < 0x80) return value;
  }
  return Error{ErrorCode::kBadFile, concat(name_, ": holds a number of more than 64 bits"), name_};
}

Result<ProtobufField> ProtobufReader::next() {
  VENEER_TRY(key, varint());
  ProtobufField field;
  field.number = static_cast<uint32_t>(key >> 3);
  switch (static_cast<Wire>(key & 7)) {
    case Wire::kVarint: {
      VENEER_TRY(value, varint());
      field.value = value;
      return field;
    }
    case Wire::kFixed64:
    case Wire::kFixed32: {
      VENEER_TRY(bytes, take((key & 7) == 1 ? 8 : 4));
      field.value = little_endian(bytes);
      return field;
    }
    case Wire::kBytes: {
      VENEER_TRY(size, varint());
      VENEER_TRY(bytes, take(size));
      field.bytes = bytes;
      return field;
    }
  }
  return Error{ErrorCode::kBadFile,
               concat(name_, ": field ", field.number,
                      " is of an unknown kind; the file is damaged or no sentencepiece ", "model"),
               name_};
}

}  // namespace veneer::text
