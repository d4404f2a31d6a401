// Solvers: they walk a state down the noise levels of a schedule. A solver is one row of a constant list and one
// function, beside its relatives in sampler_*.cpp. It is handed functions that denoise and draw noise; it knows no
// network, no guidance and no layout of the state.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "sample/noise_table.h"

namespace veneer::sample {

class SamplerRun;

// Values of --extra-sample-args that solvers read, with their defaults.
struct SamplerOptions {
  double gamma = 2.0;                                     // euler_ge: weight of the new direction
  double noise_scale_start = 1.0, noise_scale_end = 1.0;  // lcm: factor of the noise at the first and the last step
  double noise_clip_std = 0.0;                            // lcm: noise is clipped at that many deviations; 0 = off
  int lms_max_order = 4;                                  // lms: 1...4
};

// What a model call answers. Both spans are as long as the state and need to live until the next call only.
struct Denoised {
  std::span<const float> image;   // D(x, sigma): guidance and mask included
  std::span<const float> uncond;  // the unconditional one; needed for samplers with needs_uncond
};

struct StepReport {
  int step;     // finished steps; 0 is reported before the first
  int steps;    // n
  float sigma;  // the level the state is at now
  std::span<const float> x;
  std::span<const float> denoised;  // of the step's first model call; empty at step 0
};

struct SamplerHooks {
  // Required. `sigma` > 0. May refuse, which ends the run with that error.
  std::function<Result<Denoised>(std::span<const float> x, double sigma)> denoise;
  // Required: one draw of the sampler's generator for the whole state. Generators draw in (C, H, W) order; if the state
  // has another layout, permuting is this function's business.
  std::function<void(std::span<float> out)> noise;
  // Optional: once per step (not per model call). An error ends the run.
  std::function<Status(const StepReport&)> after_step;
  // Optional: asked before every model call. An error ends the run.
  std::function<Status()> check_cancel;
};

struct Sampler {
  enum class Keep { kNothing, kDenoised, kDirection };

  std::string_view name;
  Status (*step)(SamplerRun& run);
  double default_eta = 0.0;
  Keep keep = Keep::kNothing;              // what is remembered of each step: D, or d = (x - D) / sigma
  size_t history = 0;                      // of how many steps, this one included
  bool needs_uncond = false;               // CFG++: the unconditional prediction is needed even at a guidance of 1
  bool brownian = false;                   // noise comes from a Brownian tree seeded by two draws
  std::string_view default_schedule = {};  // empty: the model family's
};

std::span<const Sampler> samplers();
// Errors: usage.
Result<const Sampler*> sampler_named(std::string_view name);

// A warning for a value of eta that the solver takes but that is known to harm; empty if there is none.
std::string eta_warning(const Sampler& sampler, double eta);

struct SamplerInput {
  std::span<const float> sigmas;  // n + 1 levels, strictly decreasing, the last 0 or more
  double eta = 0.0;               // share of fresh noise, >= 0; 0 draws none. Flow models: at most 1 is used
  const NoiseTable& table;        // tells flow from eps and v models; tcd reads its alphas
  SamplerOptions options = {};
};

// Walks `x`, the state at sigmas[0], to sigmas[n]. Buffers are made once; steps allocate nothing. Errors: those of the
// hooks, usage (eta negative or not finite).
Status run_sampler(const Sampler& sampler, const SamplerInput& input, const SamplerHooks& hooks, std::span<float> x);

}  // namespace veneer::sample
