// What stands in a file beside encoded weights so that readers know how to decode them. The reading side is
// sdnq_config.h and assemble_records.cpp.
#pragma once

#include <span>
#include <string>

#include "codec/encode.h"
#include "core/json.h"

namespace veneer::io {

// The "quantization_config" of a component's config.json whose weights are stored in `form`. `plain` are the
// weights ("conv_in.weight") of linear layers, convolutions and embeddings that stay as they are: this program sees
// that from the tensors, other programs need them named.
Json sdnq_config(const codec::SdnqForm& form, std::span<const std::string> plain);

// The safetensors metadata "_quantization_metadata" that names the scheme of each layer ("model.diffusion_model.x.y").
inline constexpr const char* kQuantizationMetadata = "_quantization_metadata";
std::string scaled_records(const codec::ScaledForm& form, std::span<const std::string> layers);

}  // namespace veneer::io
