// The variational autoencoder of latent diffusion (Kingma & Welling 2013; Rombach et al. 2022): convolutions, residual
// blocks without a time input, and one attention over pixels in the middle.
#pragma once

#include "io/model_files.h"
#include "model/parts.h"

namespace veneer::model {

// latent = (z - shift) * scale, where z is what the encoder gives.
struct LatentScaling {
  double scale = 1.0;
  double shift = 0.0;
};

// `part` in any spelling; it may hold only an encoder or only a decoder. Errors: bad_file, mismatch, unsupported.
Result<std::unique_ptr<Autoencoder>> build_autoencoder_kl(const io::ModelPart& part, const LatentScaling& scaling);

}  // namespace veneer::model
