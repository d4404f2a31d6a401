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

struct Session::State {
  State(SessionOptions session_options, Log session_log, std::unique_ptr<device::Device> session_device,
        io::ModelFiles model_files, model::Model built_model, ModelSettings model_settings,
        text::ClipTokenizer clip_tokenizer, uint64_t cache_budget)
      : options(std::move(session_options)),
        log(std::move(session_log)),
        engine(options.threads),
        device(std::move(session_device)),
        files(std::move(model_files)),
        model(std::move(built_model)),
        settings(std::move(model_settings)),
        tokenizer(std::move(clip_tokenizer)),
        cache_bytes(cache_budget),
        text_place(*device, 0),
        denoiser_place(*device, cache_budget),
        vae_place(*device, cache_budget),
        tiny_place(*device, cache_budget) {}

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
