// What formats that are all bytes and no side parts share: the check of their size, and a decoder for any range of
// values made of one for whole blocks. A weight is one flat stream of blocks; its rows need not begin where blocks do.
// Knows no format.
#pragma once

#include <cstring>

#include "codec/convert.h"
#include "codec/weight.h"

namespace veneer::codec {

// The number of bytes must be exactly that of the blocks which the shape takes. Errors: bad_file naming the tensor,
// expected and found; also for sizes that are negative or beyond counting.
Status check_blocks(const Weight& weight);

// Decodes `blocks` whole blocks from `in`.
using BlocksDecoder = void (*)(const std::byte* in, int64_t blocks, float* out);

// Decodes the values [begin, end) of the stream, 0 <= begin <= end <= elements. Reads only blocks that hold one of
// them.
void decode_range(const Weight& weight, int64_t begin, int64_t end, BlocksDecoder decoder, float* out);

// Codec::decode by a decoder of whole blocks.
template <BlocksDecoder decoder>
void decode_rows(const Weight& weight, int64_t first, int64_t count, float* out) {
  const int64_t row = weight.row_values();
  decode_range(weight, first * row, (first + count) * row, decoder, out);
}

// One block, bytes to numbers and back.
using OneDecoder = void (*)(const uint8_t* in, float* out);
using OneEncoder = void (*)(const float* values, uint8_t* out);

template <int64_t values, int64_t bytes, OneDecoder one>
void decode_each(const std::byte* in, int64_t blocks, float* out) {
  const auto* block = reinterpret_cast<const uint8_t*>(in);
  for (int64_t b = 0; b < blocks; ++b) one(block + b * bytes, out + b * values);
}

// Codec::encode.
template <int64_t values, int64_t bytes, OneEncoder one>
void encode_each(std::span<const float> numbers, std::byte* out) {
  const auto count = static_cast<int64_t>(numbers.size());
  VENEER_CHECK(count % values == 0);
  auto* block = reinterpret_cast<uint8_t*>(out);
  for (int64_t b = 0; b < count / values; ++b) one(numbers.data() + b * values, block + b * bytes);
}

// A codec decoded block by block in a plain loop; only read when no encoder is given.
template <int64_t values, int64_t bytes, OneDecoder decoder, OneEncoder encoder = nullptr>
constexpr Codec block_codec(std::string_view name) {
  Codec codec{name, values, bytes, check_blocks, decode_rows<decode_each<values, bytes, decoder>>, nullptr};
  if constexpr (encoder != nullptr) codec.encode = encode_each<values, bytes, encoder>;
  return codec;
}

inline uint16_t u16_at(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}
inline float f16_at(const uint8_t* at) { return f16_to_f32(u16_at(at)); }
inline void store_f16(float value, uint8_t* at) {
  const uint16_t bits = f32_to_f16(value);
  std::memcpy(at, &bits, sizeof bits);
}

// Of a scale; 0 for that of a block of zeros, which makes all its levels 0.
template <typename T>
T inverse_of(T scale) {
  return scale != 0 ? 1 / scale : T{0};
}

}  // namespace veneer::codec
