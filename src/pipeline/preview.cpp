// Previews.
#include "pipeline/preview.h"

#include <algorithm>

#include "pipeline/pixels.h"
#include "pipeline/vision.h"

namespace veneer::pipeline {
namespace {

io::Image project(const model::LatentColours& colours, const Tensor& latent) {
  Tensor picture = Tensor::zeros({1, latent.shape[1], latent.shape[2], 3});
  const int64_t channels = latent.shape[3];
  for (int64_t pixel = 0; pixel < latent.shape[1] * latent.shape[2]; ++pixel) {
    for (int64_t colour = 0; colour < 3; ++colour) {
      float value = 0;
      for (int64_t c = 0; c < std::min<int64_t>(channels, static_cast<int64_t>(colours.size())); ++c)
        value += colours[static_cast<size_t>(c)][static_cast<size_t>(colour)] * latent.f32()[pixel * channels + c];
      picture.f32()[pixel * 3 + colour] = (value + 1.0f) / 2.0f;
    }
  }
  return image_from_tensor(picture);
}

}  // namespace

Status check_preview(PreviewMode mode, const model::Model& model) {
  if (mode == PreviewMode::kProjection && model.family->colours.empty())
    return Error{ErrorCode::kUsage,
                 concat("--preview proj: there is no projection for ", model.family->name, "; use tae or vae"),
                 "--preview"};
  if (mode == PreviewMode::kTiny && !(model.tiny_vae && model.tiny_vae->can_decode()))
    return Error{ErrorCode::kUsage, "--preview tae: needs a tiny autoencoder; give one with --taesd", "--preview"};
  if (mode == PreviewMode::kVae && !(model.vae && model.vae->can_decode()))
    return Error{ErrorCode::kUsage, "--preview vae: needs the full autoencoder; give one with --vae", "--preview"};
  return {};
}

Result<io::Image> preview_image(PreviewMode mode, const model::Model& model, Workplace& tiny_place,
                                Workplace& vae_place, const Tensor& latent) {
  if (mode == PreviewMode::kProjection) return project(model.family->colours, latent);
  const bool tiny = mode == PreviewMode::kTiny;
  const auto quiet = [](int, int) { return Status(); };
  VENEER_TRY(decoded,
             decode_latents(tiny ? *model.tiny_vae : *model.vae, tiny ? tiny_place : vae_place, latent, {}, quiet));
  return image_from_tensor(decoded);
}

}  // namespace veneer::pipeline
