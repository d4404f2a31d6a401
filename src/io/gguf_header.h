// The header of a GGUF file, versions 2 and 3, all little endian: "GGUF", u32 version, u64 tensor count, u64 pair
// count, pairs of key and value, tensor records, zeros up to the alignment, then the tensors' bytes. Works on bytes in
// memory and touches no tensor; knows nothing of stores, codecs or layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace veneer::io {

constexpr uint32_t kGgufMaxDimensions = 4;
constexpr uint64_t kGgufMaxNameBytes = 1024;  // image-model tools write up to 127, the first reader stopped at 63
// A pair of this key and a tensor's name holds the tensor's shape, slowest first, where the record holds another.
constexpr std::string_view kGgufTrueShapePrefix = "comfy.gguf.orig_shape.";

// A tensor type that the format defines. Removed ones have a block of 0 values.
struct GgufType {
  uint32_t id;
  std::string_view name;   // as the format's owner spells it: "Q4_K"
  int64_t block_values;    // a row is a whole number of blocks
  int64_t block_bytes;     // of one block
  std::string_view codec;  // the number format's name, or empty for a type that is no weight here
};
std::span<const GgufType> gguf_types();

struct GgufTensor {
  std::string name;
  const GgufType* type = nullptr;
  Shape shape;          // slowest first; the true one where the record holds another
  uint64_t offset = 0;  // from the start of the data
  uint64_t bytes = 0;
};

struct GgufHeader {
  std::vector<GgufTensor> tensors;              // in the order of their bytes
  std::map<std::string, std::string> metadata;  // scalar values as text; arrays are left out
  uint64_t data_begin = 0;                      // from the start of the file; not beyond its end
};

// Reads and checks the header of a whole file. Every accepted tensor lies inside the file and shares no byte with
// another; bytes that belong to none are accepted. `name` stands first in messages. Memory follows the header's true
// length, never a number in it.
// Errors: bad_file naming the fault, the key or tensor, expected and found; unsupported for other versions, big-endian
// files and removed types.
Result<GgufHeader> parse_gguf(std::span<const std::byte> file, std::string_view name);

}  // namespace veneer::io
