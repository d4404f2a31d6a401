// Building a model from its parts.
#include "model/model.h"

#include "core/format.h"
#include "model/clip.h"
#include "model/tiny_autoencoder.h"

namespace veneer::model {
namespace {

Error missing(const io::ModelFiles& files, std::string_view what, std::string_view how) {
  return {ErrorCode::kBadFile, concat(files.name, ": holds no ", what, "; ", how), files.name};
}

Status check_latents(const Denoiser& denoiser, const Autoencoder& autoencoder, const std::string& source) {
  if (autoencoder.latent_channels() == denoiser.latent_channels()) return {};
  return Error{
      ErrorCode::kMismatch,
      concat(source, ": the autoencoder works on ", autoencoder.latent_channels(), " latent channels, the denoiser on ",
             denoiser.latent_channels(), " (made for another model family?)"),
      source};
}

}  // namespace

std::vector<Model::NamedNetwork> Model::networks() const {
  std::vector<NamedNetwork> out;
  const auto add = [&out](io::Part part, const Network* network) {
    if (network) out.push_back({part, network});
  };
  add(io::Part::kDenoiser, denoiser.get());
  add(io::Part::kTextEncoder, text_encoder.get());
  add(io::Part::kVae, vae.get());
  add(io::Part::kTinyVae, tiny_vae.get());
  return out;
}

Result<Model> build_model(const io::ModelFiles& files) {
  Model model;
  const io::ModelPart* denoiser = files.find(io::Part::kDenoiser);
  if (!denoiser) return missing(files, "denoiser (UNet)", "give one with -m or --diffusion-model");
  VENEER_TRY(family, identify(*denoiser));
  model.family = family;
  VENEER_TRY(built_denoiser, family->build(*denoiser));
  model.denoiser = std::move(built_denoiser);

  const io::ModelPart* text = files.find(io::Part::kTextEncoder);
  if (!text) return missing(files, "text encoder", "give one with --clip_l");
  VENEER_TRY(built_text, build_clip(*text, "text_encoder"));
  model.text_encoder = std::move(built_text);
  if (model.text_encoder->width() != model.denoiser->context_width())
    return Error{
        ErrorCode::kMismatch,
        concat(text->source, ": the text encoder is ", model.text_encoder->width(), " wide, the denoiser expects ",
               model.denoiser->context_width(), " (made for another model family?)"),
        text->source};

  if (const io::ModelPart* vae = files.find(io::Part::kVae)) {
    VENEER_TRY(built, build_autoencoder_kl(*vae, family->latent));
    VENEER_TRY_STATUS(check_latents(*model.denoiser, *built, vae->source));
    model.vae = std::move(built);
  }
  if (const io::ModelPart* tiny = files.find(io::Part::kTinyVae)) {
    VENEER_TRY(built, build_tiny_autoencoder(*tiny));
    VENEER_TRY_STATUS(check_latents(*model.denoiser, *built, tiny->source));
    model.tiny_vae = std::move(built);
  }
  if (!model.vae && !model.tiny_vae) return missing(files, "autoencoder (VAE)", "give one with --vae or --taesd");
  return model;
}

}  // namespace veneer::model
