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
  // True when a file with this content is of this layout, well-formed or not. `head` is the whole mapped file.
  bool (*sniff)(std::span<const std::byte> head);
  // Reads and checks the whole header; touches no tensor's bytes. Errors: bad_file with file name, fault, expected and
  // found.
  Result<WeightStore> (*open)(std::shared_ptr<const MappedFile> file);
};

std::span<const Container* const> containers();

// Opens one file of tensors. A shard index (*.json with "weight_map") opens all its shards as one store.
// Errors: not_found, io; bad_file for what no container recognises (a pointer file or HTML page is named as such).
Result<WeightStore> open_weights(const std::filesystem::path& file, MappedFile::Mode mode = MappedFile::Mode::kMap);

}  // namespace veneer::io
