// Finds the layers that an adapter's modules are about. Built once for a loaded model from the names of its layers, it
// looks names up and never splits or guesses them: a key of another model has no layer here. Knows no family of
// adapters and no model.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapt/adapter.h"
#include "adapt/family.h"
#include "nn/spelling.h"

namespace veneer::adapt {

// The keys of one file for one place of the model, whatever spellings they came under.
struct SiteKeys {
  const nn::Spelling* target = nullptr;  // of the resolver's table: the first spelling of the place
  std::vector<Site> sites;               // its ranges, in the order of the name's rows
  KeyGroup keys;
};

// Two spellings of one place give the same part different values: the file contradicts itself.
struct Contradiction {
  const nn::Spelling* target = nullptr;
  std::vector<std::string> keys;  // all keys for this place; the first two are a pair that differs
};

// Every key of the file is in exactly one of these, or is for no module (Adapter::embeddings) or for all of them
// (Adapter::vera_down and vera_up). Points into the resolver and the adapter.
struct Resolution {
  std::vector<SiteKeys> sites;
  std::vector<const AdapterModule*> unmatched;  // of the adapter
  std::vector<IgnoredKey> ignored;
  std::vector<Contradiction> contradictions;
};

class Resolver {
 public:
  // Errors: bug for a name that two layers of one part share.
  static Result<Resolver> build(nn::NameTable table);

  // The place that a module of a file means, as its first spelling (of a layer: the canonical name), or null. Names are
  // compared with their dots as underscores.
  const nn::Spelling* find(std::string_view prefix, std::string_view module) const;

  // Errors: mismatch for modules by number that the model's layers of those numbers do not fit, for then all numbers
  // mean other layers.
  Result<Resolution> resolve(const Adapter& adapter) const;

  // The known names most like a module's, at most `count`, with its prefix and in its style; for messages. Compares
  // with every name: not for thousands of modules.
  std::vector<std::string> nearest(const AdapterModule& module, size_t count) const;

  // The widths of the token embeddings of the CLIP text encoders that are loaded.
  std::vector<int64_t> token_widths() const;

  // The block that the layer has in its model's original numbering ("input_blocks.4", "middle_block.1"), for block
  // weights; empty for a layer outside of blocks.
  std::string_view block_of(const nn::Layer& layer) const;

 private:
  const nn::Spelling* lookup(io::Part part, std::string_view module) const;
  // The component that the prefix is for, when models of this family have it and this one was loaded without.
  std::optional<io::Part> missing_component(std::string_view prefix) const;
  Status check_numbered(const Adapter& adapter) const;

  nn::NameTable table_;
  std::set<io::Part> loaded_;
  std::unordered_map<std::string, size_t> by_name_;  // part and underscored name -> first spelling of the place
  std::unordered_map<const nn::Layer*, std::string> blocks_;
};

}  // namespace veneer::adapt
