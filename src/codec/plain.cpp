// F32, F16 and BF16 as they are: one value a block, no side parts.
#include <cstring>

#include "codec/convert.h"
#include "codec/weight.h"

namespace veneer::codec {
namespace {

Status check_plain(const Weight& weight) {
  const int64_t expected = encoded_bytes(*weight.codec, weight.elements());
  if (static_cast<int64_t>(weight.bytes.size()) == expected) return {};
  return Error{ErrorCode::kBadFile,
               concat("tensor ", weight.name, ": ", weight.codec->name, " ", weight.shape.to_string(), " takes ",
                      expected, " bytes, found ", weight.bytes.size()),
               weight.name};
}

// The bytes from the first wanted row on, and how many values to read there.
const std::byte* start_of(const Weight& weight, int64_t first) {
  return weight.bytes.data() + first * weight.row_values() * weight.codec->block_bytes;
}

void decode_f32(const Weight& weight, int64_t first, int64_t count, float* out) {
  std::memcpy(out, start_of(weight, first), static_cast<size_t>(count * weight.row_values()) * sizeof(float));
}
void decode_f16(const Weight& weight, int64_t first, int64_t count, float* out) {
  f16_to_f32(start_of(weight, first), count * weight.row_values(), out);
}
void decode_bf16(const Weight& weight, int64_t first, int64_t count, float* out) {
  bf16_to_f32(start_of(weight, first), count * weight.row_values(), out);
}

void encode_f32(std::span<const float> values, std::byte* out) { std::memcpy(out, values.data(), values.size_bytes()); }
void encode_f16(std::span<const float> values, std::byte* out) {
  f32_to_f16(values.data(), static_cast<int64_t>(values.size()), out);
}
void encode_bf16(std::span<const float> values, std::byte* out) {
  f32_to_bf16(values.data(), static_cast<int64_t>(values.size()), out);
}

}  // namespace

extern const Codec kF32{"f32", 1, 4, check_plain, decode_f32, encode_f32};
extern const Codec kF16{"f16", 1, 2, check_plain, decode_f16, encode_f16};
extern const Codec kBf16{"bf16", 1, 2, check_plain, decode_bf16, encode_bf16};

}  // namespace veneer::codec
