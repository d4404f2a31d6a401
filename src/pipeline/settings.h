// What the files of a model say about sampling, and what unset options come to with it.
#pragma once

#include <functional>

#include "model/model.h"
#include "pipeline/request.h"
#include "pipeline/sizes.h"
#include "sample/noise_table.h"

namespace veneer::pipeline {

struct ModelSettings {
  sample::Prediction prediction = sample::Prediction::kEps;
  std::string prediction_source;          // what told it, for the log
  sample::NoiseTable table;               // for flow models at the model's own shift
  std::optional<double> base_shift = {};  // sample::ScheduleOptions of the same names, where the folder has them
  std::optional<double> max_shift = {};
  const sample::Schedule* schedule = nullptr;  // when neither the request nor the sampler names one
  const sample::Sampler* sampler = nullptr;
  Size native_size;
  SizeRule size_rule;
};

// The mean of what the denoiser answers to a constant input, less that input; for models that do not say what they
// predict.
using Probe = std::function<Result<double>()>;

// Prediction: the option, else the folder's scheduler configuration, else marker tensors, else `probe` for families
// that want it, else the family's. Noise table: the file's own alphas_cumprod, else the configuration's betas, else the
// family's; rescaled to zero terminal SNR where a marker or the configuration says so. Flow models: the configuration's
// `shift`, else the family's. Errors: bad_file, unsupported,
// those of `probe`.
Result<ModelSettings> read_settings(const io::ModelFiles& files, const model::Model& model, int latent_factor,
                                    std::optional<sample::Prediction> asked, const Probe& probe);

// The table of a flow model at this shift. Errors: usage (a shift that is not positive and finite).
Result<sample::NoiseTable> flow_table(const model::Family& family, double shift);

}  // namespace veneer::pipeline
