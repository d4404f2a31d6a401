// The JSON text of a safetensors header, read in one pass without a document tree: headers of large models hold
// thousands of entries, and hostile ones a hundred megabytes.
#pragma once

#include <string_view>

#include "io/safetensors_header.h"

namespace veneer::io {

// Fills `tensors` (in the order of the text) and `metadata`. Every tensor has a known type, a shape that a Shape holds
// and two offsets; how these fit together, and names that occur twice, are the caller's to check. Errors: bad_file,
// unsupported; `name` stands first in messages.
Status read_safetensors_json(std::string_view text, std::string_view name, SafetensorsHeader& header);

}  // namespace veneer::io
