// The account of a picture that travels in its file: the text that the well-known web UIs read, and this program's
// JSON.
#pragma once

#include <string>

#include "core/json.h"
#include "pipeline/request.h"

namespace veneer::pipeline {

struct UsedAdapter {
  std::string name;
  double denoiser = 1, text_encoder = 1;
  std::string sha256, auto_v3;
  bool operator==(const UsedAdapter&) const = default;
};

// All that is needed to make the picture again, with everything resolved: no option is "automatic" here.
struct Parameters {
  std::string prompt, negative_prompt;
  int steps = 0;
  double cfg_scale = 0, cfg_rescale = 0;
  std::optional<double> image_cfg_scale;  // edit models
  std::optional<double> guidance;         // models with a guidance input
  double eta = 0;
  int64_t seed = 0;
  int width = 0, height = 0;
  std::string sampler, schedule;     // schedule is "custom" when sigmas were given
  std::vector<double> sigmas;        // only when given
  std::optional<double> flow_shift;  // flow models
  std::string extra_sample_args;
  std::string rng, sampler_rng;
  std::string prediction;
  int clip_skip = 0, t5_length = 0;     // 0: the model's own
  std::string model, vae, tiny_vae;     // base names of files; empty when not given
  std::optional<double> strength;       // image to image
  std::optional<TilingOptions> tiling;  // only when decoded in tiles
  std::string compute;                  // of the denoiser: "f32", "bf16"
  std::vector<UsedAdapter> adapters;
  Json receipt;  // what the adapters came to (adapt/receipt.h); null without any
  bool operator==(const Parameters&) const = default;
};

std::string parameters_text(const Parameters& parameters);  // A1111 layout
Json parameters_json(const Parameters& parameters);         // schema "veneer.image.params/v1"
// Reading back. Errors: bad_file when the JSON is of another schema or damaged.
Result<Parameters> parameters_from_json(const Json& json, std::string_view name);
// The JSON at the end of such a text, under the key "Veneer" or, as stable-diffusion.cpp writes it, "SDCPP"; else
// empty.
std::string_view embedded_json(std::string_view text);

}  // namespace veneer::pipeline
