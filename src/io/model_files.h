// What the user named as a model, opened and sorted into parts by prefix or folder. Names inside a part are bare
// (without the component's prefix) but still in the spelling of their source; recognising a family and translating
// names is the model's work.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "io/weight_store.h"

namespace veneer::io {

// The parts that a model can have. The order is that of reports.
enum class Part { kDenoiser, kTextEncoder, kTextEncoder2, kTextEncoder3, kVae, kTinyVae };
std::string_view name_of(Part part);  // "denoiser", "text_encoder", ...

struct ModelPart {
  WeightStore weights;
  Json config;         // the component's config.json, or null
  std::string source;  // file or folder, for messages
};

// What to open. Empty paths are not given. A later member wins over an earlier one for the same tensor.
struct ModelPaths {
  std::filesystem::path model;      // single file, shard index or diffusers folder: everything it holds
  std::filesystem::path denoiser;   // --diffusion-model
  std::filesystem::path clip_l;     // --clip_l
  std::filesystem::path clip_g;     // --clip_g
  std::filesystem::path t5xxl;      // --t5xxl
  std::filesystem::path vae;        // --vae
  std::filesystem::path tiny_vae;   // --taesd / --tae
  std::filesystem::path tokenizer;  // --tokenizer: a folder with vocab.json and merges.txt
  MappedFile::Mode mode = MappedFile::Mode::kMap;
};

struct ModelFiles {
  std::map<Part, ModelPart> parts;
  Json scheduler_config;                              // of a folder, or null
  std::filesystem::path tokenizer;                    // folder of the first text encoder's tokenizer, or empty
  std::optional<std::vector<double>> alphas_cumprod;  // from the file, when it holds 1000 finite values in (0, 1]
  std::vector<std::string> markers;         // bare marker tensors found: "v_pred", "ztsnr", "edm_vpred.sigma_max", ...
  std::vector<std::string> warnings;        // things that were ignored and that a user may want to know
  int64_t ignored_tensors = 0;              // tensors left out by a named rule (ema copies, position ids, ...)
  std::vector<std::string> unused_tensors;  // tensors that belong to no part
  std::string name;                         // the model's file or folder name, for metadata

  const ModelPart* find(Part part) const;
};

// Errors: not_found for a path that does not exist (naming the option), bad_file and those of open_weights.
Result<ModelFiles> open_model_files(const ModelPaths& paths);

}  // namespace veneer::io
