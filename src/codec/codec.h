// Number formats: how bytes of a file become numbers and back. One file per format beside this one; all of them stand
// in the constant array of list.cpp. A codec knows nothing of files, layers or devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/result.h"

namespace veneer::codec {

struct Weight;

struct Codec {
  std::string_view name;  // as options and reports spell it: "f16", "q4_0", "q4_K"
  int64_t block_values;   // values that are stored together; a row need not be a whole number of blocks
  int64_t block_bytes;    // bytes of one block

  // True sizes of bytes and side parts against the shape. Errors: bad_file naming the tensor, expected and found.
  Status (*check)(const Weight& weight);

  // Writes rows [first, first + count) of the weight to `out` as float32, [count, row_values] row-major.
  // The weight has passed `check`. Exact: the value that the format defines, bit for bit where it defines one.
  void (*decode)(const Weight& weight, int64_t first, int64_t count, float* out);

  // Stores `values` (a whole number of blocks), rounding to nearest, ties to even. Null where the format is only read.
  void (*encode)(std::span<const float> values, std::byte* out);
};

// All formats that can be read, in the order of list.cpp.
std::span<const Codec* const> codecs();
// In any case, "q4_k" or "Q4_K"; null when there is no such format.
const Codec* find_codec(std::string_view name);

}  // namespace veneer::codec
