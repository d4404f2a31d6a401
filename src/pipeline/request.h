// What is asked: which model to open and how to hold it (SessionOptions), and one picture order (Request). Plain data,
// filled by the command line, the C interface and later the server; `validate` knows all rules that need no model.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "adapt/stack.h"
#include "io/image.h"
#include "io/model_files.h"
#include "io/type_rules.h"
#include "sample/prediction.h"
#include "sample/random.h"
#include "sample/sampler.h"
#include "sample/schedule.h"
#include "text/adapter_tags.h"

namespace veneer::pipeline {

enum class ComputeType { kAuto, kF32, kBf16 };

struct SessionOptions {
  io::ModelPaths paths;  // an empty model path means the embedded default
  std::string data_dir;  // where the program's own data lie: models/emoji-v1, bpe_simple_vocab_16e6.txt.gz
  std::string backend;   // "" = automatic
  int threads = 0;       // <= 0: physical cores
  bool strict = false;   // reference arithmetic
  ComputeType compute = ComputeType::kAuto;
  bool tiny_vae_preview_only = false;            // a tiny autoencoder that is given serves previews, not the result
  io::TypeRules types;                           // weights are held in these formats; the files stay as they are
  bool eager_load = false;                       // read all weights when the session opens
  std::optional<sample::Prediction> prediction;  // wins over what the files say
  std::filesystem::path adapter_dir = ".";       // where names of adapters are looked for
  std::filesystem::path embedding_dir;           // whose files are words of prompts (embeddings.h); empty: none
  uint64_t adapter_cache_bytes = uint64_t{512} << 20;  // of adapters that no picture uses at the moment
  std::optional<uint64_t> panel_cache_bytes;           // budget of decoded panels; unset: chosen by the plan
};

// Which adapters a picture is made with, and how. Part of every order: the next one may name others.
struct AdapterOrder {
  std::vector<text::AdapterRequest> adapters;
  adapt::ApplyMode mode = adapt::ApplyMode::kAuto;
  adapt::Policy policy = adapt::Policy::kReport;
  adapt::Combine combine = adapt::Combine::kSum;
  adapt::DoraConvention dora = adapt::DoraConvention::kInterp;
};

// The weights by block that an adapter is asked for with; empty without any. Errors: usage, naming the adapter.
Result<std::optional<adapt::BlockWeights>> block_weights_of(const text::AdapterRequest& request);

inline constexpr double kCfgScale = 7.0;

enum class PreviewMode { kNone, kProjection, kTiny, kVae };

struct TilingOptions {
  bool enabled = false;
  int tile_width = 32, tile_height = 32;           // latent pixels, decoding
  double relative_width = 0, relative_height = 0;  // > 0: fraction of the latent (<= 1) or number of tiles (> 1)
  double overlap = 0.5;                            // share of a tile, 0..0.5
  bool operator==(const TilingOptions&) const = default;
};

struct Request {
  std::string prompt, negative_prompt;
  std::string written_prompt;  // as the picture's parameters show it, adapter tags included; empty: the prompt
  AdapterOrder adapters;
  std::optional<int> width, height;  // pixels; unset: the given picture's, else the model's own size
  int64_t seed = 42;                 // < 0: random
  int batch_count = 1;
  int steps = 20;
  std::optional<double> cfg_scale;        // unset: kCfgScale, or 1 for models distilled with guidance
  std::optional<double> image_cfg_scale;  // of edit models: strength of the picture; unset: 1.5
  std::optional<double> guidance;         // of models distilled with it; unset: the family's
  double cfg_rescale = 0.0;  // 0..1: how far the deviation of the guided prediction is brought back to the plain one's
  std::optional<double> eta;
  const sample::Sampler* sampler = nullptr;    // null: by model
  const sample::Schedule* schedule = nullptr;  // null: by sampler and model
  std::vector<double> sigmas;                  // replaces the schedule when not empty
  std::optional<double> flow_shift;
  sample::GeneratorKind rng = sample::GeneratorKind::kCuda;
  std::optional<sample::GeneratorKind> sampler_rng;  // unset: same generator
  int clip_skip = 0;                                 // <= 0: by model
  int t5_length = 0;                                 // tokens that T5 encodes, padding included; <= 0: by model
  std::string extra_sample_args;

  std::optional<io::Image> init_image;  // RGB; image to image
  double strength = 0.75;
  std::optional<io::Image> mask;  // grey, white = repaint

  TilingOptions tiling;
  PreviewMode preview = PreviewMode::kNone;
  int preview_interval = 1;
  bool preview_noisy = false;

  std::optional<Tensor> init_latents;  // [1, C, h, w], taken as the noise before scaling by the first sigma
};

// Every rule that can be judged without a model. Errors: usage, naming the option and the nearest legal value.
Status validate(const Request& request);

}  // namespace veneer::pipeline
