// What a run makes of the picture that the user gives: where it starts, what a mask protects, and the channels that
// inpainting and edit models take behind the latent's own.
#pragma once

#include "pipeline/guided_denoiser.h"
#include "pipeline/vision.h"

namespace veneer::pipeline {

// Told by the number of channels that the denoiser takes. The further ones are not scaled with the noise level.
enum class PictureInput {
  kNone,
  kInpaint,  // 1 + latent channels: the mask (1: repaint), then the latent of the picture without what it covers
  kEdit,     // as many as the latent: that of the picture, not scaled (InstructPix2Pix)
};
PictureInput picture_input_of(const model::Denoiser& denoiser);

struct PictureOrder {
  const std::optional<io::Image>&picture, &mask;  // as given
  PictureInput input;
  int width, height;  // of the run
  const TilingOptions& tiling;
  // Draws standard normal noise in the layout of a latent: the posterior is drawn before the generators are seeded for
  // each picture.
  std::function<void(std::span<float>)> noise;
};

struct PreparedPicture {
  io::Image picture;          // at the size of the run; empty when none is given
  Tensor mask;                // [height, width]: 1 = repaint; empty without one
  std::vector<float> latent;  // where the run starts from; empty when it starts from noise alone
  std::optional<Protection> protection;
  Tensor channels;  // DenoiseTerms::picture
};

// The autoencoder that encodes pictures, and where it computes; both null when there is none.
struct PictureEncoder {
  const model::Autoencoder* autoencoder = nullptr;
  Workplace* place = nullptr;
};

// Errors: usage when there is no encoder; bad_file when values are not finite.
Result<PreparedPicture> prepare_picture(const PictureOrder& order, const PictureEncoder& encoder,
                                        const model::LatentScaling& scaling, const TileProgress& progress);

}  // namespace veneer::pipeline
