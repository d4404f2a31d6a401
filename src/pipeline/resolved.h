// A request with nothing left open: every option that was unset has its value for this model, and all that can be
// refused without arithmetic has been.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "pipeline/guided_denoiser.h"
#include "pipeline/picture_input.h"
#include "pipeline/request.h"
#include "pipeline/settings.h"
#include "sample/extra_args.h"

namespace veneer::pipeline {

struct Resolved {
  int64_t seed = 0;  // of the first picture
  bool seed_drawn = false;
  Size size;
  Shape latent;  // [1, height, width, channels]
  sample::ExtraArgs extra;
  const sample::Sampler* sampler = nullptr;
  const sample::Schedule* schedule = nullptr;
  std::optional<sample::NoiseTable> shifted_table;  // of a flow model, at the shift that is asked for
  std::vector<float> sigmas;                        // of the steps that are run
  int steps = 0;                                    // as asked, before image to image leaves some out
  double eta = 0;
  double cfg_scale = 0;
  Guidance guidance;
  bool needs_uncond = false;
  PictureInput picture_input = PictureInput::kNone;
  int branches() const { return !needs_uncond ? 1 : guidance.image_scale ? 3 : 2; }
  bool starts_from_picture = false;  // image to image
  std::vector<std::string> warnings;
};

// The levels that a run with `resolved` walks.
const sample::NoiseTable& table_of(const Resolved& resolved, const ModelSettings& settings);

// `factor`: picture pixels per latent pixel. Errors: usage naming the option; unsupported.
Result<Resolved> resolve(const Request& request, const model::Model& model, const ModelSettings& settings, int factor);

}  // namespace veneer::pipeline
