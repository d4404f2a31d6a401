// The account of a stack: every key of every file as applied, refused, unmatched or ignored, and every layer's route.
// What is printed, stored in a picture or answered by a program comes from one of these.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "adapt/adapter.h"
#include "core/json.h"
#include "io/model_files.h"
#include "nn/overlay.h"

namespace veneer::adapt {

struct RefusedKey {
  std::string key, reason;
};

struct UnmatchedKey {
  std::string key;
  std::string nearest;  // the known name most like it, or empty
};

struct KeyCounts {
  int64_t total = 0, applied = 0, refused = 0, unmatched = 0, ignored = 0;
};

struct SiteCounts {
  int64_t sites = 0, applied = 0;
  int64_t weights = 0, biases = 0;  // of the applied ones: layers whose weight, and whose bias, takes part
};

// What became of the keys of one file.
struct AdapterAccount {
  std::string name, path, sha256, auto_v3;
  std::map<std::string, double> strength;  // by component: "te", "diffusion", "vae"
  std::string blocks;                      // BlockWeights::to_string; empty without any
  std::vector<std::string> words;          // that stand for embeddings which the file brings
  KeyCounts keys;
  std::map<io::Part, SiteCounts> components;
  std::vector<RefusedKey> refused;
  std::vector<UnmatchedKey> unmatched;
  std::vector<IgnoredKey> ignored;
  std::vector<std::string> notices;
  std::string family;      // "lora", "lora + dora"; several joined by commas
  std::string looks_like;  // a sentence on the model that the file seems made for, or empty
};

struct LayerAccount {
  std::string layer, held;  // "unet.mid_block...", "q4_K"
  nn::Route route = nn::Route::kBeside;
  std::vector<std::string> terms;
  int64_t base_products = 1;
  double survival = 1, error = 0;  // 1 and 0 for exact routes; measured for merged ones
};

struct Receipt {
  std::string combine = "sum", dora = "interp", policy = "report", mode = "auto", compute = "f32";
  std::vector<AdapterAccount> adapters;
  std::vector<LayerAccount> layers;
  // Layers for which `immediately` was asked and could not be had, by reason.
  std::map<std::string, int64_t> not_merged;
  int64_t held_bytes = 0;  // terms and copies

  std::map<std::string, int64_t> routes() const;  // "beside", "folded", "merged" with their numbers
  // With every layer, or only the numbers of layers per route.
  Json to_json(bool with_layers) const;
};

// "(252 / 264) LoRA tensors have been applied, lora_file_path = PATH", in front of it "Only " and behind it the other
// counts and the first three keys when some had no effect.
std::string count_line(const AdapterAccount& account);

}  // namespace veneer::adapt
