// Sizes of block streams, and ranges that begin or end inside a block.
#include "codec/blocks.h"

#include <algorithm>
#include <array>
#include <optional>

namespace veneer::codec {
namespace {

constexpr int64_t kMaxBlockValues = 256;

// Bytes of a stream of whole blocks; empty for a shape that has a negative size or overflows on the way.
std::optional<int64_t> stream_bytes(const Codec& codec, const Shape& shape) {
  int64_t elements = 1, padded = 0, bytes = 0;
  for (const int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements)) return {};
  if (__builtin_add_overflow(elements, codec.block_values - 1, &padded)) return {};
  if (__builtin_mul_overflow(padded / codec.block_values, codec.block_bytes, &bytes)) return {};
  return bytes;
}

}  // namespace

Status check_blocks(const Weight& weight) {
  const auto expected = stream_bytes(*weight.codec, weight.shape);
  if (expected && static_cast<uint64_t>(*expected) == weight.bytes.size()) return {};
  return Error{ErrorCode::kBadFile,
               concat("tensor ", weight.name, ": ", weight.codec->name, " ", weight.shape.to_string(), " takes ",
                      expected ? concat(*expected) : "uncountable", " bytes, found ", weight.bytes.size()),
               weight.name};
}

void decode_range(const Weight& weight, int64_t begin, int64_t end, BlocksDecoder decoder, float* out) {
  const int64_t size = weight.codec->block_values;
  const auto block_of = [&](int64_t value) { return weight.bytes.data() + value / size * weight.codec->block_bytes; };
  // Values up to `stop`, all in one block of which not every value is wanted.
  const auto decode_part = [&](int64_t stop) {
    std::array<float, kMaxBlockValues> block;
    VENEER_CHECK(size <= kMaxBlockValues);
    decoder(block_of(begin), 1, block.data());
    out = std::copy_n(block.data() + begin % size, stop - begin, out);
    begin = stop;
  };
  if (begin % size != 0) decode_part(std::min(end, (begin / size + 1) * size));
  if (const int64_t blocks = (end - begin) / size; blocks > 0) {
    decoder(block_of(begin), blocks, out);
    out += blocks * size;
    begin += blocks * size;
  }
  if (begin < end) decode_part(end);
}

}  // namespace veneer::codec
