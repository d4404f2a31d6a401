// Latents as files: safetensors with one F32 tensor `latents`, [pictures, channels, height, width].
#pragma once

#include <filesystem>
#include <span>

#include "pipeline/session.h"

namespace veneer::cli {

// One picture's latents, [1, C, h, w]. Errors: those of io::open_weights; bad_file (no such tensor, another shape,
// values that are not finite).
Result<Tensor> read_latents(const std::filesystem::path& path);

// Those of a whole batch. Errors: io.
Status save_latents(const std::filesystem::path& path, std::span<const pipeline::Picture> pictures);

}  // namespace veneer::cli
