// Layout of GGUF files, version 3, to be written by tensor_file.h. Same plan, same metadata, same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/tensor_file.h"

namespace veneer::io {

using GgufValue = std::variant<std::string, bool, uint32_t, int32_t, float, std::vector<int32_t>>;
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;  // written in this order

// True when the format has this type, spelled as it spells it ("F16", "Q4_K"); it has no F8.
bool gguf_can_hold(std::string_view type);

// The file of these tensors, in this order, aligned to 32 bytes.
// Errors: unsupported naming the tensor for a type that the format does not have, more than 4 dimensions, a size of 0
// or rows that are no whole number of blocks; bad_file for a name or key that is not UTF-8, that occurs twice, or that
// is longer than readers take.
Result<FileLayout> gguf_layout(std::span<const TensorPlan> tensors, const GgufMetadata& metadata);

// The pair that keeps the shape of a tensor whose record cannot hold it, or holds rows that blocks fit into:
// "comfy.gguf.orig_shape.NAME". Sizes must be below 2^31 (checked).
std::pair<std::string, GgufValue> gguf_true_shape(std::string_view name, const Shape& shape);

}  // namespace veneer::io
