// Building a model from its parts.
#include "model/model.h"

#include "core/format.h"
#include "model/clip.h"
#include "model/t5.h"
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

// The option that names a file for a text encoder.
std::string_view option_of(io::Part part) {
  switch (part) {
    case io::Part::kTextEncoder2: return "--clip_g";
    case io::Part::kTextEncoder3: return "--t5xxl";
    default: return "--clip_l";
  }
}

Result<TextEncoders> build_text_encoders(const io::ModelFiles& files, const TextPlan& plan) {
  TextEncoders encoders;
  for (const TextUse& use : plan.uses) {
    const io::ModelPart* part = files.find(use.part);
    const std::string component(io::name_of(use.part));
    if (!part && !use.required) continue;
    if (!part)
      return missing(files, concat("text encoder (", component, ")"), concat("give one with ", option_of(use.part)));
    VENEER_TRY(built,
               use.kind == TextKind::kT5 ? build_t5(*part, component) : build_clip(*part, component, use.pooled));
    encoders.emplace(use.part, std::move(built));
  }
  if (encoders.empty()) {
    std::vector<std::string> options;
    for (const TextUse& use : plan.uses) options.emplace_back(option_of(use.part));
    return missing(files, "text encoder", concat("give at least one of ", join(options, ", ")));
  }
  return encoders;
}

// The sizes of what the text encoders give must be those that the denoiser takes.
Status check_text(const io::ModelFiles& files, const Model& model) {
  const TextPlan& plan = model.text_plan();
  const std::vector<int64_t> tokens(plan.uses.size(), 1);
  const Condition given = blank_condition(plan, model.text_encoders, *model.denoiser, tokens);
  const auto refuse = [&](std::string_view what, int64_t found, int64_t expected) {
    std::vector<std::string> sources;
    for (const auto& [part, encoder] : model.text_encoders) sources.push_back(files.find(part)->source);
    return Error{ErrorCode::kMismatch,
                 concat(join(sources, ", "), ": the text encoder", sources.size() == 1 ? " gives" : "s give", what,
                        found, " wide, the denoiser expects ", expected, " (made for another model family?)"),
                 sources.empty() ? files.name : sources.front()};
  };
  const int64_t states = given.states.empty() ? 0 : given.states.shape.back();
  const int64_t vector = given.vector.empty() ? 0 : given.vector.shape.back();
  if (states != model.denoiser->context_width()) return refuse(" states ", states, model.denoiser->context_width());
  if (vector != model.denoiser->vector_width())
    return refuse(" a pooled vector that comes to one ", vector, model.denoiser->vector_width());
  return {};
}

}  // namespace

const TextEncoder* Model::text_encoder(io::Part part) const {
  const auto found = text_encoders.find(part);
  return found == text_encoders.end() ? nullptr : found->second.get();
}

std::vector<Model::NamedNetwork> Model::networks() const {
  std::vector<NamedNetwork> out;
  const auto add = [&out](io::Part part, const Network* network) {
    if (network) out.push_back({part, network});
  };
  add(io::Part::kDenoiser, denoiser.get());
  for (const auto& [part, encoder] : text_encoders) add(part, encoder.get());
  add(io::Part::kVae, vae.get());
  add(io::Part::kTinyVae, tiny_vae.get());
  return out;
}

Result<Model> build_model(const io::ModelFiles& files) {
  Model model;
  const io::ModelPart* denoiser = files.find(io::Part::kDenoiser);
  if (!denoiser) return missing(files, "denoiser", "give one with -m or --diffusion-model");
  VENEER_TRY(family, identify(*denoiser));
  model.family = family;
  VENEER_TRY(built_denoiser, family->build(*denoiser));
  model.denoiser = std::move(built_denoiser);
  VENEER_TRY(encoders, build_text_encoders(files, *family->text));
  model.text_encoders = std::move(encoders);
  VENEER_TRY_STATUS(check_text(files, model));

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
