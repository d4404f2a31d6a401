// File layouts that hold tensors. One file per layout beside this one; all of them stand in the constant array of
// containers.cpp. A layout is recognised by its content, never by its extension.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/weight_store.h"

namespace veneer::io {

struct Container {
  std::string_view name;  // "safetensors"
  // True when a file with this content is of this layout, well-formed or not. `file` is the whole of it.
  bool (*sniff)(std::span<const std::byte> file);
  // Reads and checks the whole header; touches no tensor's bytes. Errors: bad_file with file name, fault, expected and
  // found.
  Result<WeightStore> (*open)(std::shared_ptr<const MappedFile> file);
};

// All layouts that can be read, in the order in which they are tried.
std::span<const Container* const> containers();

// Opens one file of tensors. A shard index (*.json with "weight_map") opens all its shards as one store.
// Errors: not_found (a shard: naming its index), io; unsupported for GGUF and pickle files; bad_file for a damaged
// file, what no container recognises (an empty file, a pointer file, a web page are named as such), and an index that
// disagrees with its shards.
Result<WeightStore> open_weights(const std::filesystem::path& file, MappedFile::Mode mode = MappedFile::Mode::kMap);

}  // namespace veneer::io
