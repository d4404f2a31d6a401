// Adapter families: each reads its own keys and lowers them to terms. A family knows neither models nor other families;
// it is one file in families/ and one entry in list.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapt/key_group.h"
#include "nn/layer.h"
#include "nn/terms.h"

namespace veneer::adapt {

// How a DoRA magnitude acts at strengths other than 1 (spec: adapters 3.6).
enum class DoraConvention { kInterp, kPeft, kLycoris };

struct LowerOptions {
  double strength = 1;  // of the component, block weights included; only non-linear families look at it
  DoraConvention dora = DoraConvention::kInterp;
  int64_t pair_limit = 64;  // largest rank up to which LoHa becomes a Pair
  int64_t rank_limit = 0;   // `dyn`: use only the first so many ranks of LoRA factors; 0 = all
};

// The layer's outputs that a group is about; a whole layer, or a slice of a fused one.
struct Site {
  const nn::Layer* layer = nullptr;
  int64_t first_row = 0, rows = 0;  // rows = layer->out() for a whole layer

  // [rows, in] or [rows, in / groups, kh, kw]
  Shape shape() const;
  bool is_whole() const { return first_row == 0 && rows == layer->out(); }
};

// What a group came to. `amount` is the strength where that acts linearly, else 1 with the strength inside the terms.
struct Lowered {
  std::vector<nn::Term> terms;
  bool strength_inside = false;
  std::vector<std::string> notices;  // things a user should see: "alpha is 0: no effect"
  std::vector<std::string> used;     // parts that took effect; the others of the group are refused
};

struct Family {
  std::string_view name;  // "lora", "loha", ...
  // By the parts that are there; the first family of the list that claims a group lowers it.
  bool (*claims)(const KeyGroup& keys);
  // Errors: mismatch (shapes: names the layer, what the file gives and what the layer is), unsupported (what cannot be
  // represented, with the reason), bad_file (non-finite values).
  Result<Lowered> (*lower)(const KeyGroup& keys, const Site& site, const LowerOptions& options);
};

// A modifier rewrites what families gave for the same group: DoRA, dense biases.
struct Modifier {
  std::string_view name;
  bool (*claims)(const KeyGroup& keys);
  Status (*rewrite)(const KeyGroup& keys, const Site& site, const LowerOptions& options, Lowered& lowered);
};

std::span<const Family* const> families();     // in the order of claiming
std::span<const Modifier* const> modifiers();  // in the order of rewriting

// All families that claim the group (a module may carry two additive ones), then the modifiers. Parts that nobody used
// are named in the error of a group that nobody claims.
Result<Lowered> lower(const KeyGroup& keys, const Site& site, const LowerOptions& options);
// "lora", "loha + dora", or "" when nobody claims the group.
std::string family_name(const KeyGroup& keys);

}  // namespace veneer::adapt
