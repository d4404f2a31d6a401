// The tensors of a PyTorch checkpoint: what the pickle machine built, walked through and named, each tensor checked
// against the record that its values lie in. Works on bytes in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "io/pickle_machine.h"
#include "io/safetensors_header.h"

namespace veneer::io {

struct TorchTensor {
  std::string name;  // the keys on the way to it, joined by dots; places in a list count from 0
  const SafetensorsType* type = nullptr;
  Shape shape;
  std::span<const std::byte> bytes;
};

struct TorchTensors {
  std::vector<TorchTensor> tensors;             // by name
  std::map<std::string, std::string> metadata;  // texts and integers of the top level
};

// The record of a storage, or why there is none.
using FindRecord = std::function<Result<std::span<const std::byte>>(const PickleStorage& storage)>;

// What lies below the key "state_dict" alone where the top level has it, else everything. `place` stands first in
// messages.
// Errors: bad_file for an object that is neither dictionary nor list, a name that occurs twice or is not UTF-8, a
// tensor that leaves its storage and a storage that leaves its record; unsupported for values in another than row-major
// order, more dimensions than a Shape holds, and nesting beyond a limit.
Result<TorchTensors> collect_torch_tensors(const Pickle& pickle, const FindRecord& find_record, std::string_view place);

}  // namespace veneer::io
