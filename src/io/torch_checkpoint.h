// What torch.save writes: a zip archive (since PyTorch 1.6), and before that a row of pickles with the numbers behind
// them. Works on bytes in memory; no code in a file is ever run.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "io/torch_tensors.h"

namespace veneer::io {

// ROOT/data.pkl is the object, ROOT/data/KEY the numbers of a storage, ROOT/byteorder its order where it is told.
// `name` stands first in messages.
// Errors: those of read_zip, run_pickle and collect_torch_tensors; unsupported for TorchScript archives, other zip
// archives and big-endian numbers.
Result<TorchTensors> parse_torch_zip(std::span<const std::byte> file, std::string_view name);

// Five pickles (magic number, protocol, system, the object, the storages' keys in order), then for each key a u64 count
// and the numbers. Errors: as above; unsupported for a pickle that begins with another object.
Result<TorchTensors> parse_torch_legacy(std::span<const std::byte> file, std::string_view name);

}  // namespace veneer::io
