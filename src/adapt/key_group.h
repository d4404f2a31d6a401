// The tensors that an adapter file holds for one place of a model, by the canonical name of their part ("down", "up",
// "alpha", "hada_w1_a", ...; adapter_keys.h translates the spellings). Tensors stay as stored until a family asks for
// them in float32.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codec/weight.h"
#include "core/result.h"
#include "core/tensor.h"

namespace veneer::adapt {

struct KeyPart {
  std::string key;       // as the file spells it
  codec::Weight weight;  // codec null for integer tensors, whose bytes `integers` reads
  std::string type;      // the container's word for it: "F16", "I64"
};

// In float32, in the stored shape. Errors: mismatch (empty), bad_file (values that are not finite, with their number),
// unsupported (a type that is no number); each names the key.
Result<Tensor> as_tensor(const KeyPart& part);

// What a PEFT configuration (adapter_config.json, or the metadata `lora_adapter_metadata`) says about this module.
struct GroupSettings {
  bool is_peft = false;  // the keys are spelled as PEFT does, or a configuration is there
  std::optional<double> alpha;
  std::optional<int64_t> rank;   // `r`; LoKr stores factors that do not show it
  bool rank_stabilised = false;  // use_rslora
  bool cayley_neumann = true;    // OFT
  int cayley_neumann_terms = 5;
  bool block_share = false;
};

struct KeyGroup {
  std::string module;  // the text before the part, as the file spells it
  std::map<std::string, KeyPart, std::less<>> parts;
  // Projections that VeRA shares between all modules of a file.
  const KeyPart* vera_down = nullptr;
  const KeyPart* vera_up = nullptr;
  GroupSettings settings;

  const KeyPart* find(std::string_view part) const;
  bool has(std::string_view part) const { return find(part) != nullptr; }
  // as_tensor of a part. Errors also: mismatch naming the module, what it has and what is missing.
  Result<Tensor> need(std::string_view part) const;
  // Of an integer tensor, or of a float tensor with whole values. Errors as need.
  Result<std::vector<int64_t>> integers(std::string_view part) const;
  // A one-element tensor of any type. Errors as need, and mismatch when it has more elements.
  Result<double> number(std::string_view part) const;

  // The file's own scale for factors of this rank: `.scale`, else alpha / rank with alpha from the configuration or the
  // file, else 1 (spec: adapters 3.1).
  Result<double> scale_for(int64_t rank) const;
};

}  // namespace veneer::adapt
