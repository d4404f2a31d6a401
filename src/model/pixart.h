// The denoiser of PixArt alpha (Chen et al. 2023) and sigma (2024): a transformer over patches of the latent in which
// all blocks share one modulation by the timestep.
#pragma once

#include "io/model_files.h"
#include "model/parts.h"

namespace veneer::model {

bool is_pixart(const io::ModelPart& part);
// Which of them. Sigma: by the number of text tokens that the file has a null caption for, or by being trained for more
// than 512 pixels without being told the size of pictures. Alpha for 1024 pixels: by being told it.
bool is_pixart_sigma(const io::ModelPart& part);
bool is_pixart_alpha_1024(const io::ModelPart& part);

// `part` in the original spelling or the one of diffusers. Heads, epsilon and the trained size come from config.json
// where there is one; else there are 16 heads, and the size is taken from the metadata, or follows from the weights and
// the picture's size. The vector that the denoiser takes is (height, width) of the picture in pixels, for those that
// are told; it is the same for a whole batch. Errors: bad_file, mismatch, unsupported (compressed attention).
Result<std::unique_ptr<Denoiser>> build_pixart(const io::ModelPart& part);

}  // namespace veneer::model
