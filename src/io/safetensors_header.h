// The header of a safetensors file: u64 length (little endian), that many bytes of JSON
// {"name": {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {text: text}}, then the tensors' bytes.
// Works on bytes in memory and touches no tensor; knows nothing of stores or layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace veneer::io {

struct SafetensorsType {
  std::string_view name;   // as the header spells it
  uint64_t bits;           // of one value
  std::string_view codec;  // the number format's name, or empty for a type that is no weight by itself
};
// Null when the format does not define this type.
const SafetensorsType* find_safetensors_type(std::string_view name);

// The bytes that a tensor takes; empty when they are beyond counting or not whole.
std::optional<uint64_t> stored_bytes(const SafetensorsType& type, const Shape& shape);

struct SafetensorsTensor {
  std::string name;
  const SafetensorsType* type = nullptr;
  Shape shape;
  uint64_t begin = 0;  // from the end of the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  // from the start of the file
};

constexpr uint64_t kSafetensorsHeaderLimit = 100'000'000;

// Reads and checks the header of a whole file: what it accepts names every byte behind the header exactly once.
// `name` stands first in messages. Memory follows the header's true length, never a number in it.
// Errors: bad_file naming the fault, the tensor where there is one, expected and found; unsupported for a tensor of
// more dimensions than a Shape holds.
Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file, std::string_view name);

}  // namespace veneer::io
