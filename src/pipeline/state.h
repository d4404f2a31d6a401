// What a session holds. Shared by session.cpp (opening, describing) and run.cpp (making pictures); nobody else includes
// it.
#pragma once

#include <memory>
#include <mutex>

#include "core/threads.h"
#include "device/device.h"
#include "pipeline/memory.h"
#include "pipeline/plan.h"
#include "pipeline/session.h"
#include "pipeline/settings.h"
#include "text/clip_tokenizer.h"

namespace veneer::pipeline {

// What opening a model gives.
struct Opened {
  std::unique_ptr<device::Device> device;
  io::ModelFiles files;
  model::Model model;
  ModelSettings settings;
  text::ClipTokenizer tokenizer;
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
        tokenizer(std::move(opened.tokenizer)),
        cache_bytes(options.panel_cache_bytes.value_or(kDefaultCacheBytes)),
        text_place(*device, 0),
        denoiser_place(*device, cache_bytes),
        vae_place(*device, cache_bytes),
        tiny_place(*device, cache_bytes) {}

  const SessionOptions options;
  const Log log;
  EngineThread engine;
  std::unique_ptr<device::Device> device;
  const io::ModelFiles files;
  const model::Model model;
  const ModelSettings settings;
  const text::ClipTokenizer tokenizer;
  const uint64_t cache_bytes;
  // The text encoder runs once a picture: keeping its panels would not pay.
  Workplace text_place, denoiser_place, vae_place, tiny_place;
  std::mutex busy;  // held while a picture is made

  // The autoencoder that makes the result, and its workplace.
  const model::Autoencoder& decoder() const {
    const bool tiny = model.tiny_vae && model.tiny_vae->can_decode() && !options.tiny_vae_preview_only;
    return tiny || !model.vae ? *model.tiny_vae : *model.vae;
  }
  Workplace& decoder_place() { return &decoder() == model.tiny_vae.get() ? tiny_place : vae_place; }
};

}  // namespace veneer::pipeline
