// What the user named as a model, opened and sorted into parts by prefix or folder. Names inside a part are bare
// (without the component's prefix) but still in the spelling of their source; recognising a family and translating
// names is the model's work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "io/weight_store.h"

namespace veneer::io {

// The parts that a model can have. The order is that of reports. A T5 encoder is always the third text encoder,
// wherever its source numbers it; an OpenCLIP-bigG is the second.
enum class Part { kDenoiser, kTextEncoder, kTextEncoder2, kTextEncoder3, kVae, kTinyVae };
std::string_view name_of(
    Part part);  // "denoiser", "text_encoder", "text_encoder_2", "text_encoder_3", "vae", "tiny_vae"

struct ModelPart {
  WeightStore weights;
  Json config;         // the component's config.json, or null
  std::string source;  // file or folder, for messages
};

// What to open. Empty paths are not given. The parts' own paths name a file, or a folder with config.json and weights.
// Such a part is laid over the model's tensor by tensor when all its names occur there; otherwise it takes that part's
// place, for two spellings of the same layers must not be mixed.
struct ModelPaths {
  std::filesystem::path model = {};      // single file, shard index or diffusers folder: everything it holds
  std::filesystem::path denoiser = {};   // --diffusion-model
  std::filesystem::path clip_l = {};     // --clip_l
  std::filesystem::path clip_g = {};     // --clip_g
  std::filesystem::path t5xxl = {};      // --t5xxl
  std::filesystem::path vae = {};        // --vae
  std::filesystem::path tiny_vae = {};   // --taesd, --tae: also one of an encoder/decoder pair, or a folder with it
  std::filesystem::path tokenizer = {};  // --tokenizer: a folder as ModelFiles::tokenizer or t5_tokenizer
  MappedFile::Mode mode = MappedFile::Mode::kMap;
};

// Bare tensors beside the parts that tell how a model predicts ("v_pred", "ztsnr", "edm_vpred.sigma_max", "edm_mean",
// ...), with their values; most are of size zero.
using Markers = std::map<std::string, std::vector<float>, std::less<>>;

struct ModelFiles {
  std::map<Part, ModelPart> parts;     // none is empty
  Json scheduler_config;               // of a folder, or null
  std::filesystem::path tokenizer;     // folder of the CLIP tokenizer (merges.txt), or empty
  std::filesystem::path t5_tokenizer;  // folder of the T5 tokenizer (spiece.model or tokenizer.json), or empty
  std::optional<std::vector<double>> alphas_cumprod;  // from the file, when it holds 1000 finite values in (0, 1]
  Markers markers;                                    // of the file that the denoiser is from
  std::vector<std::string> warnings;                  // things that were ignored and that a user may want to know
  int64_t ignored_tensors = 0;              // tensors left out by a named rule (ema copies, position ids, ...)
  std::vector<std::string> unused_tensors;  // tensors that belong to no part
  std::string name;                         // the model's file or folder name, for metadata

  const ModelPart* find(Part part) const;
};

// Opens everything and reads no weights (markers and alphas_cumprod excepted).
// The tiny autoencoder's two-file form becomes "encoder.N..." and "decoder.N..." with the numbers of the files.
// Errors: not_found, bad_file, unsupported and io as open_weights has them, all with the option's name in front;
// mismatch for an option whose file holds another part, and for a model that holds none.
Result<ModelFiles> open_model_files(const ModelPaths& paths);

}  // namespace veneer::io
