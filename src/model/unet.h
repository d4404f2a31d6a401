// The UNet of Stable Diffusion 1, 2 and XL, at any width and depth: residual blocks and spatial transformers on up to
// four levels with skip connections (Rombach et al. 2022; Podell et al. 2023 for the vector of pooled text and sizes).
// Sizes come from tensor names and shapes; what shapes cannot tell (heads, norm groups) from the folder's config.json
// where there is one.
#pragma once

#include "core/json.h"
#include "io/model_files.h"
#include "model/parts.h"

namespace veneer::model {

// `part` in either spelling. Errors: bad_file, mismatch, unsupported (video or class-conditional UNets, unknown input
// channels).
Result<std::unique_ptr<Denoiser>> build_unet(const io::ModelPart& part);

// The second dimension of the cross-attention keys, or 0 when there is none; tells the families apart.
int64_t unet_context_width(const io::WeightStore& store);

}  // namespace veneer::model
