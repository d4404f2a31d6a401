// The tiny autoencoders (TAESD layout): a plain sequence of 3x3 convolutions and small residual blocks with ReLU, an
// approximation of the full one for the same latents. Used for previews and with --taesd.
#pragma once

#include "io/model_files.h"
#include "model/parts.h"

namespace veneer::model {

// `part` in the diffusers spelling ("decoder.layers.0.weight") or with the numbers of the published pair of files
// ("decoder.1.weight"). Errors: bad_file, mismatch, unsupported.
Result<std::unique_ptr<Autoencoder>> build_tiny_autoencoder(const io::ModelPart& part);

}  // namespace veneer::model
