// What a session holds. Shared by session.cpp (opening, describing) and run.cpp (making pictures); nobody else includes
// it.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/threads.h"
#include "device/device.h"
#include "pipeline/adapter_rack.h"
#include "pipeline/memory.h"
#include "pipeline/picture_input.h"
#include "pipeline/plan.h"
#include "pipeline/session.h"
#include "pipeline/settings.h"
#include "pipeline/tokenizers.h"

namespace veneer::pipeline {

// What opening a model gives.
struct Opened {
  std::unique_ptr<device::Device> device;
  io::ModelFiles files;
  model::Model model;
  ModelSettings settings;
  Tokenizers tokenizers;
  uint64_t held_bytes;  // of weights in memory of their own, in a format that the options ask for
  Json held_rules;      // RuleUse::to_json
};

struct Session::State {
  State(SessionOptions session_options, Log session_log, Opened opened)
      : options(std::move(session_options)),
        log(std::move(session_log)),
        engine(options.threads),
        device(std::move(opened.device)),
        files(std::move(opened.files)),
        model(std::move(opened.model)),
        settings(std::move(opened.settings)),
        tokenizers(std::move(opened.tokenizers)),
        held_bytes(opened.held_bytes),
        held_rules(std::move(opened.held_rules)),
        denoiser_place(*device, panels, compute()),
        vae_place(*device, panels),
        tiny_place(*device, panels),
        adapters(model, *device,
                 {options.adapter_dir, adapt::Library::Reach::kAnywhere, options.adapter_cache_bytes,
                  options.paths.mode, options.strict, compute() == device::Compute::kF32},
                 log) {
    for (const auto& [part, encoder] : model.text_encoders) text_places.try_emplace(part, *device, no_panels);
  }

  // Of the denoiser; everything else computes in float32.
  device::Compute compute() const {
    return options.compute == ComputeType::kBf16 ? device::Compute::kBf16 : device::Compute::kF32;
  }

  const SessionOptions options;
  const Log log;
  EngineThread engine;
  std::unique_ptr<device::Device> device;
  const io::ModelFiles files;
  const model::Model model;
  const ModelSettings settings;
  const Tokenizers tokenizers;
  const uint64_t held_bytes;
  const Json held_rules;
  nn::PanelCache panels{0};  // its budget is the plan's
  // Text encoders run once a picture: keeping their panels would not pay.
  nn::PanelCache no_panels{0};
  std::map<io::Part, Workplace> text_places;  // one for each text encoder
  Workplace denoiser_place, vae_place, tiny_place;
  AdapterRack adapters;
  std::mutex busy;  // held while a picture is made

  // What the next pictures are made with; null for nothing. The set before is left as soon as nobody uses it.
  void lay(const std::shared_ptr<const adapt::Stack>& stack) {
    const auto lay_over = [&](io::Part part, const model::Network* network, Workplace& place) {
      if (!network) return;
      place.lay(stack ? std::shared_ptr<const nn::OverlaySet>(stack, stack->overlays_of(part)) : nullptr,
                network->layers());
    };
    for (auto& [part, place] : text_places) lay_over(part, model.text_encoder(part), place);
    lay_over(io::Part::kDenoiser, model.denoiser.get(), denoiser_place);
    lay_over(io::Part::kVae, model.vae.get(), vae_place);
    lay_over(io::Part::kTinyVae, model.tiny_vae.get(), tiny_place);
  }

  // The autoencoder that makes the result, and its workplace.
  const model::Autoencoder& decoder() const {
    const bool tiny = model.tiny_vae && model.tiny_vae->can_decode() && !options.tiny_vae_preview_only;
    return tiny || !model.vae ? *model.tiny_vae : *model.vae;
  }
  Workplace& decoder_place() { return &decoder() == model.tiny_vae.get() ? tiny_place : vae_place; }
  // The one that encodes pictures.
  PictureEncoder picture_encoder() {
    if (model.vae && model.vae->can_encode()) return {model.vae.get(), &vae_place};
    if (model.tiny_vae && model.tiny_vae->can_encode()) return {model.tiny_vae.get(), &tiny_place};
    return {};
  }
};

}  // namespace veneer::pipeline
