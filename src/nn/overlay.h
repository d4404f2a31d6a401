// What a set of adapters means for one layer: their programs brought into the form in which the product runs them.
// Immutable; made once for a set and given to runs by pointer, so that a run keeps the set that it started with.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nn/layer.h"
#include "nn/terms.h"

namespace veneer::nn {

// How terms take part in the product: beside it in float32; folded into the decoded panel in float32; or as a rounded
// copy of the weight, on request only.
enum class Route { kBeside, kFolded, kMerged };
std::string_view name_of(Route route);

// y += factor * term(x), for the outputs from first_row on.
struct Addend {
  Term term;
  float factor = 1;
  int64_t first_row = 0;
};

struct Overlay {
  Route route = Route::kBeside;
  std::vector<Addend> beside;   // additive terms that run as products of their own
  std::vector<Addend> folded;   // additive terms that join the decoded rows; all their first_row are 0
  std::vector<Program> shifts;  // programs that turn only what goes into the base product
  std::vector<Program> turns;   // programs that turn what comes out of it; their rotations as the device wants them
  std::vector<Program> chain;   // in place of all of these: each program acts on the result of those before it
  std::vector<float> gain_out;  // all plain output gains together, [out]; empty when there are none
  std::optional<std::vector<float>> bias;  // adapted copy; replaces the layer's own
  std::optional<std::vector<float>> norm;  // adapted copy of a norm's weight
  std::optional<codec::Weight> weight;     // a replacement or a merged copy, in the place of the layer's own
  std::vector<std::string> terms;          // for receipts

  const codec::Weight& weight_of(const Layer& layer) const { return weight ? *weight : layer.weight; }
  // The decoded panels are not those of the plain layer.
  bool has_own_panels() const { return weight.has_value() || !folded.empty(); }
  // Something reads W x itself, so that input-side changes need a product of their own.
  bool turns_output() const { return !gain_out.empty() || !turns.empty(); }
  int64_t base_products() const;  // with this overlay; 1 for a plain layer
  int64_t held_bytes() const;     // of terms and copies
};

struct OverlayOptions {
  bool fold_dense = true;     // compute is float32
  bool fold_pairs = true;     // also low-rank terms where that is cheaper, and rotations; not in strict arithmetic
  bool side_factors = false;  // pairs join the side factors of formats that have them (codec/side_factors.h)
  bool chain = false;         // each program acts on the result of those before it, not on the weight as stored
};

// Null when all programs are neutral. Programs come in canonical order and were lowered for this layer; `merged` is the
// rounded copy of the weight that holds all their additive and turning terms (route kMerged), or empty.
std::shared_ptr<const Overlay> make_overlay(const Layer& layer, std::span<const Program> programs,
                                            const OverlayOptions& options,
                                            std::optional<codec::Weight> merged = std::nullopt);

// One entry per layer id of a model part; null where nothing is laid over the layer.
using OverlaySet = std::vector<std::shared_ptr<const Overlay>>;

}  // namespace veneer::nn
