// A cursor over a message in the wire format of Protocol Buffers: field after field, without a schema. Knows nothing
// about what the fields mean.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/format.h"
#include "core/result.h"

namespace veneer::text {

struct ProtobufField {
  uint32_t number = 0;
  uint64_t value = 0;      // of a varint or fixed field, else 0
  std::string_view bytes;  // of a string, message or bytes field, else empty

  float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

class ProtobufReader {
 public:
  // `name` stands first in messages and outlives the reader.
  ProtobufReader(std::string_view message, const std::string& name) : rest_(message), name_(name) {}

  bool at_end() const { return rest_.empty(); }
  // Errors: bad_file for a field that is cut short or of a kind that is no longer in use (groups).
  Result<ProtobufField> next();

 private:
  Result<uint64_t> varint();
  Result<std::string_view> take(uint64_t count);

  std::string_view rest_;
  const std::string& name_;
};

}  // namespace veneer::text
