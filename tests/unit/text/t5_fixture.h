// What the tests of T5's tokenizer share: sentencepiece models written field by field.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace veneer::text {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

inline std::string varint_field(uint64_t number, uint64_t value) { return varint(number << 3) + varint(value); }

inline std::string bytes_field(uint64_t number, std::string_view bytes) {
  return varint(number << 3 | 2).append(varint(bytes.size())).append(bytes);
}

inline std::string little_endian(uint32_t value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> 8 * i);
  return out;
}

inline std::string float_field(uint64_t number, float value) {
  return varint(number << 3 | 5) + little_endian(std::bit_cast<uint32_t>(value));
}

// Kinds: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte.
inline std::string piece(std::string_view text, float score, uint64_t kind = 1) {
  return bytes_field(1, bytes_field(1, text) + float_field(2, score) + varint_field(3, kind));
}

// Ids 0 to 2, as every model of T5 has them.
inline std::string control_pieces() { return piece("<pad>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2); }

}  // namespace veneer::text
