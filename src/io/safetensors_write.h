// Writing of safetensors files. The same tensors and metadata give the same bytes, in whatever order they are given.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"

namespace veneer::io {

struct TensorToWrite {
  std::string name;
  std::string_view type;  // a type of the format: "F32", "F16", ...
  Shape shape;
  std::span<const std::byte> bytes;  // row-major, exactly what type and shape take
};

// The file of these tensors, the widest types first so that each stays aligned, for tensor_file.h.
// Errors: unsupported naming the tensor for a type that the format does not have; bad_file for a name that occurs twice
// or that the format reserves, and for a name or a metadata text that is not UTF-8.
Result<FileLayout> safetensors_layout(std::span<const TensorPlan> tensors,
                                      const std::map<std::string, std::string>& metadata);

// Types, sizes and unequal names are the caller's duty (checked).
// Errors: bad_file for a name or a metadata text that is not UTF-8.
Result<std::vector<std::byte>> encode_safetensors(const std::vector<TensorToWrite>& tensors,
                                                  const std::map<std::string, std::string>& metadata);

// The same to a file, tensor by tensor without a copy in memory; a reader sees the old file or the whole new one.
// Parent folders are created. Errors: as above, and io.
Status write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                         const std::map<std::string, std::string>& metadata);

}  // namespace veneer::io
