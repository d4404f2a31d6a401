// The denoiser of Stable Diffusion 3 and 3.5: a transformer over 2x2 patches of the latent, in joint blocks with the
// tokens of the text (Esser et al. 2024). Depth, width, norms of queries and keys and second attentions are read from
// names and shapes; the width of a head, where nothing shows it, from the folder's config.json, else it is 64.
#pragma once

#include "io/model_files.h"
#include "model/parts.h"

namespace veneer::model {

// True for either spelling.
bool is_sd3(const io::ModelPart& part);

// `part` in either spelling. Errors: bad_file, mismatch, unsupported (layer norms of queries and keys).
Result<std::unique_ptr<Denoiser>> build_sd3(const io::ModelPart& part);

}  // namespace veneer::model
