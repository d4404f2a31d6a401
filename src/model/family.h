// The families of models, recognised from tensor names and shapes (and the folder's
// configuration, where small models have unusual ones), and what is special to each. A new family is
// an entry in the array of family.cpp, its text plan and the file of its denoiser.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "io/model_files.h"
#include "model/autoencoder_kl.h"
#include "model/conditioner.h"
#include "model/parts.h"

namespace veneer::model {

// A rough colour of each latent channel: red, green, blue in -1..1 for a channel value of 1.
using LatentColours = std::span<const std::array<float, 3>>;

// What pictures are made with when neither the user nor a file says otherwise. Names are those of the command line.
struct SamplingDefaults {
  std::string_view prediction = "eps";
  std::string_view sampler = "euler_a";
  std::string_view schedule = "discrete";
  std::string_view betas = "scaled_linear";  // of the training process, for eps and v
  double beta_start = 0.00085, beta_end = 0.012;
  double flow_shift = 1;           // for flow models
  bool exponential_shift = false;  // the shift is the mu of sample::NoiseTable::flow_exponential
  double guidance = 3.5;           // Denoiser::Input::guidance
  bool probe_for_v = false;        // files may predict v without saying so; the network's answer to a probe tells
  bool zeros_for_blank = false;    // an empty negative prompt is JoinInput::blank
  bool sdxl_steps = false;         // "Align Your Steps" were published for it as SDXL's
};

struct Family {
  std::string_view name;  // as reports show it: "SD 1.x"
  bool (*recognise)(const io::ModelPart& denoiser);
  Result<std::unique_ptr<Denoiser>> (*build)(const io::ModelPart& denoiser) = nullptr;  // null: not supported
  const TextPlan* text = nullptr;
  LatentScaling latent = {};
  LatentColours colours = {};  // for previews; may be empty
  int native_size = 0;         // pixels a side, when no config says otherwise
  int native_size_for_v = 0;   // of those that predict v; 0: the same
  SamplingDefaults sampling = {};
};

std::span<const Family> families();

// The family of a denoiser, supported or not; null when it is none that is known.
const Family* recognised(const io::ModelPart& denoiser);

// The same for models that are to be used. Errors: unsupported, naming the family found (or the sizes that fit none)
// and those supported.
Result<const Family*> identify(const io::ModelPart& denoiser);

}  // namespace veneer::model
