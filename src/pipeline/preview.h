// Small pictures of a latent on its way.
#pragma once

#include "model/model.h"
#include "pipeline/memory.h"
#include "pipeline/request.h"

namespace veneer::pipeline {

// `latent` is [1, h, w, channels]. kProjection maps each latent pixel to a colour by the family's fixed linear map;
// kTiny and kVae decode. Errors: usage when the autoencoder or the projection that is asked for is not there.
Status check_preview(PreviewMode mode, const model::Model& model);
Result<io::Image> preview_image(PreviewMode mode, const model::Model& model, Workplace& tiny_place,
                                Workplace& vae_place, const Tensor& latent);

}  // namespace veneer::pipeline
