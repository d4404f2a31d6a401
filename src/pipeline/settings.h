// What the files of a model say about sampling, and what unset options come to with it.
#pragma once

#include "model/model.h"
#include "pipeline/request.h"
#include "pipeline/sizes.h"
#include "sample/noise_table.h"

namespace veneer::pipeline {

struct ModelSettings {
  sample::Prediction prediction = sample::Prediction::kEps;
  sample::NoiseTable table;
  const sample::Schedule* schedule = nullptr;  // when neither the request nor the sampler names one
  const sample::Sampler* sampler = nullptr;
  Size native_size;
  SizeRule size_rule;
};

// Prediction: the option, else the folder's scheduler configuration, else marker tensors, else the family's. Noise
// table: the file's own alphas_cumprod, else the configuration's betas, else Stable Diffusion's; rescaled to zero
// terminal SNR where a marker or the configuration says so. `why` gets one line for the log. Errors: bad_file,
// unsupported.
Result<ModelSettings> read_settings(const io::ModelFiles& files, const model::Family& family, int latent_factor,
                                    std::optional<sample::Prediction> asked, std::string& why);

}  // namespace veneer::pipeline
