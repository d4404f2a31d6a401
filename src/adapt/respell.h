// An adapter's tensors under the names that another program uses: the same numbers, other keys. And the proof that two
// files mean the same.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapt/fitted.h"
#include "core/json.h"
#include "nn/spelling.h"

namespace veneer::adapt {

enum class KeyStyle {
  kKohya,      // lora_unet_down_blocks_0_..., lora_down, alpha
  kDiffusers,  // unet.down_blocks.0..., lora_A, scales in the metadata "lora_adapter_metadata"
  kPeft,       // base_model.model.down_blocks.0..., lora_A, scales in adapter_config.json; one component
  kComfy,      // diffusion_model.input_blocks.1..., lora_down, alpha
};
// "kohya", "diffusers", "peft", "comfy"; empty for another word.
std::optional<KeyStyle> key_style_from(std::string_view name);

// A file to be written. Parts of keys point into the adapter or into `made`.
struct Respelled {
  std::map<std::string, KeyPart> keys;
  std::list<std::vector<float>> made;           // scales that became tensors
  std::map<std::string, std::string> metadata;  // the trainer's, and PEFT's configuration by component
  Json peft_config;                             // adapter_config.json, or null
};

// `table` is the one that the resolver was built from.
// Errors: mismatch for a module that this model does not have, bad_file for a file that contradicts itself,
// unsupported for parts that the style has no name for.
Result<Respelled> respell(const Adapter& adapter, const Resolver& resolver, const nn::NameTable& table, KeyStyle style);

// Nothing when both have the same terms, bit for bit, on the same layers; else where they first differ. Both were
// fitted with the same resolver.
std::optional<std::string> first_difference(const Fitted& a, const Fitted& b);

}  // namespace veneer::adapt
