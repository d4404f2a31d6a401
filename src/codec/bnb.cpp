// The 4-bit types of bitsandbytes: codes index a table of 16 numbers that the file brings (NF4 and FP4 differ in it
// only), times the largest magnitude of the code's block. Blocks run over the flat weight, across its rows; the even
// element is the high nibble. With double quantization the magnitudes are codes of 8 bits themselves.
//
// Side parts: "table" (16 numbers), "absmax"; when that is one byte a block also "nested_table" (256 numbers),
// "nested_absmax", "nested_offset" (one number). Settings: "block", "nested_block".
#include <algorithm>

#include "codec/nibble_pairs.h"
#include "codec/side.h"

namespace veneer::codec {
namespace {

int64_t blocks_of(int64_t values, int64_t block) { return (values + block - 1) / block; }

// A side part of plain numbers, as many as expected.
Status check_numbers(const Weight& weight, std::string_view key, int64_t expected) {
  const Weight* part = weight.side->find(key);
  if (part == nullptr) return misfit(weight, concat("has no ", key));
  if (part->elements() != expected)
    return misfit(weight, concat("expected ", expected, " values of ", key, ", found ", part->shape.to_string()));
  return part->codec->check(*part);
}

bool is_nested(const Weight& weight) { return weight.side->find("nested_absmax") != nullptr; }

Status check_bnb(const Weight& weight) {
  const Weight* absmax = weight.side ? weight.side->find("absmax") : nullptr;
  if (absmax == nullptr) return misfit(weight, "has no absmax");
  const int64_t values = weight.elements(), block = weight.side->setting("block", 0);
  if (block <= 0) return misfit(weight, concat("blocks of ", block, " values"));
  if (values <= 0 || static_cast<int64_t>(weight.bytes.size()) != (values + 1) / 2)
    return misfit(weight, concat("takes ", (values + 1) / 2, " bytes, found ", weight.bytes.size()));
  VENEER_TRY_STATUS(check_numbers(weight, "table", 16));
  const int64_t blocks = blocks_of(values, block);
  if (!is_nested(weight)) return check_numbers(weight, "absmax", blocks);
  const int64_t nested_block = weight.side->setting("nested_block", 0);
  if (nested_block <= 0) return misfit(weight, concat("nested blocks of ", nested_block, " values"));
  if (static_cast<int64_t>(absmax->bytes.size()) != blocks)
    return misfit(weight, concat("expected ", blocks, " bytes of absmax, found ", absmax->bytes.size()));
  VENEER_TRY_STATUS(check_numbers(weight, "nested_table", 256));
  VENEER_TRY_STATUS(check_numbers(weight, "nested_offset", 1));
  return check_numbers(weight, "nested_absmax", blocks_of(blocks, nested_block));
}

std::vector<float> numbers(const Weight& weight, std::string_view key, int64_t begin, int64_t count) {
  return side_numbers(*weight.side->find(key), begin, count);
}

// The magnitudes of blocks [begin, end).
std::vector<float> magnitudes(const Weight& weight, int64_t begin, int64_t end) {
  if (!is_nested(weight)) return numbers(weight, "absmax", begin, end - begin);
  const int64_t nested = weight.side->setting("nested_block", 1);
  const int64_t first = begin / nested;
  const std::vector<float> table = numbers(weight, "nested_table", 0, 256);
  const std::vector<float> scale = numbers(weight, "nested_absmax", first, blocks_of(end, nested) - first);
  const float offset = numbers(weight, "nested_offset", 0, 1).front();
  const std::byte* codes = weight.side->find("absmax")->bytes.data();
  std::vector<float> out;
  for (int64_t i = begin; i < end; ++i)
    out.push_back(table[static_cast<size_t>(codes[i])] * scale[static_cast<size_t>(i / nested - first)] + offset);
  return out;
}

void decode_bnb(const Weight& weight, int64_t first, int64_t count, float* out) {
  const int64_t begin = first * weight.row_values(), end = begin + count * weight.row_values();
  const int64_t block = weight.side->setting("block", 1), first_block = begin / block;
  const std::vector<float> table = numbers(weight, "table", 0, 16);
  const std::vector<float> absmax = magnitudes(weight, first_block, blocks_of(end, block));
  const NibblePairs pairs(std::span<const float, 16>(table), NibblePairs::First::kHigh);
  for (int64_t at = begin; at < end;) {
    const int64_t stop = std::min(end, (at / block + 1) * block);
    const float scale = absmax[static_cast<size_t>(at / block - first_block)];
    float* const values = out + (at - begin);
    pairs.decode(weight.bytes.data(), at, stop - at, values);
    for (int64_t i = 0; i < stop - at; ++i) values[i] *= scale;
    at = stop;
  }
}

}  // namespace

extern const Codec kBnbNf4{"bnb_nf4", 2, 1, check_bnb, decode_bnb, nullptr};
extern const Codec kBnbFp4{"bnb_fp4", 2, 1, check_bnb, decode_bnb, nullptr};

}  // namespace veneer::codec
