// One model call as a solver sees it: scales the state, runs the network with and without the prompt (and, for edit
// models, without the picture) in one batch, combines the predictions, turns them into the denoised image and keeps
// what a mask protects.
#pragma once

#include <optional>
#include <vector>

#include "model/parts.h"
#include "pipeline/conditioning.h"
#include "pipeline/memory.h"
#include "pipeline/settings.h"
#include "sample/extra_args.h"
#include "sample/sampler.h"

namespace veneer::pipeline {

struct Guidance {
  std::vector<double> scales;         // one per step
  std::optional<double> image_scale;  // of edit models
  double embedded = 0;                // Denoiser::Input::guidance
  double rescale = 0;
  sample::ApgOptions apg;
  bool keep_uncond = false;  // the solver wants the unconditional image too
};

// What a mask protects: 1 = repaint. Both in the layout of the state.
struct Protection {
  std::vector<float> mask;      // [height, width, channels]
  std::vector<float> original;  // the given picture's latent
};

// What one picture is denoised under. `conditioning` has a negative prompt when any step needs the unconditional pass.
// The members must outlive the denoiser.
struct DenoiseTerms {
  const Conditioning& conditioning;
  const Guidance& guidance;
  const std::optional<Protection>& protection;
  const Tensor& picture;  // [1, height, width, more channels] behind the latent's (picture_input.h); may be empty
  Shape latent;           // [1, height, width, channels]
};

class GuidedDenoiser {
 public:
  GuidedDenoiser(const model::Denoiser& denoiser, Workplace& place, const ModelSettings& settings,
                 const DenoiseTerms& terms);
  GuidedDenoiser(const GuidedDenoiser&) = delete;
  GuidedDenoiser& operator=(const GuidedDenoiser&) = delete;

  // `x` is [height, width, channels] at level `sigma`. Errors: bad_file when the prediction is not finite.
  Result<sample::Denoised> denoise(std::span<const float> x, double sigma);
  void set_step(int step) { step_ = step; }  // for guidance that changes from step to step

 private:
  void run_network(const sample::Scalings& scalings, std::span<const float> x);
  void combine();
  // Of the latest model call: 0 with the prompt, 1 without, 2 without prompt and picture.
  std::span<const float> prediction(int branch) const;
  void protect(std::span<float> denoised) const;

  const model::Denoiser& denoiser_;
  Workplace& place_;
  const ModelSettings& settings_;
  DenoiseTerms terms_;
  sample::Apg apg_;
  int branches_;
  size_t count_;  // values of one latent
  int step_ = 0;
  model::Denoiser::Input input_;
  nn::KeptProducts kept_;               // of the text in `input_`
  Tensor output_;                       // [branches, height, width, channels]
  std::vector<float> guided_, uncond_;  // denoised
};

// What one model call takes, with `branches` conditions of these sizes, under overlays (or null).
Footprint measure_denoise(const model::Denoiser& denoiser, const model::Condition& condition, int branches,
                          int64_t height, int64_t width, const nn::OverlaySet* overlays);

}  // namespace veneer::pipeline
