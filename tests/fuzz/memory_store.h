// The tensors of a safetensors file that lies in memory, for fuzz targets whose input is one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "io/container.h"
#include "io/safetensors_header.h"

namespace veneer::fuzz {

// Each tensor in memory of exactly its size, so that a sanitizer sees every step outside. Empty for a file that is
// refused.
inline std::optional<io::WeightStore> store_of(std::span<const std::byte> file) {
  const auto header = io::parse_safetensors(file, "fuzz.safetensors");
  if (!header) return std::nullopt;
  io::WeightStore::Entries entries;
  for (const io::SafetensorsTensor& tensor : header->tensors) {
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(header->data_begin);
    const auto memory = std::make_shared<const std::vector<std::byte>>(
        begin + static_cast<std::ptrdiff_t>(tensor.begin), begin + static_cast<std::ptrdiff_t>(tensor.end));
    entries.emplace(tensor.name, io::entry_of(tensor.name, {tensor.type->name, tensor.type->codec}, tensor.shape,
                                              std::span(*memory), memory));
  }
  return io::WeightStore(std::move(entries), header->metadata, {});
}

}  // namespace veneer::fuzz
