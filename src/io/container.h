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
  // found; unsupported for what the layout allows and this program does not read; mismatch for a file that is meant for
  // something else.
  Result<WeightStore> (*open)(std::shared_ptr<const MappedFile> file);
};

struct EntryType {
  std::string_view name;   // the file's own word for it
  std::string_view codec;  // the number format's name; empty or unknown for a type that is no weight
};
// A store's entry. `owner` keeps `bytes` alive.
Entry entry_of(std::string name, const EntryType& type, const Shape& shape, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner);

// All layouts that can be read, in the order in which they are tried.
std::span<const Container* const> containers();

// Opens one file of tensors. A shard index (*.json with "weight_map") opens all its shards as one store.
// Errors: not_found (a shard: naming its index), io; what the container answers; bad_file for what no container
// recognises (an empty file, a pointer file, a web page are named as such), and for an index that disagrees with its
// shards.
Result<WeightStore> open_weights(const std::filesystem::path& file, MappedFile::Mode mode = MappedFile::Mode::kMap);

}  // namespace veneer::io
