// A set of fitted adapters at their strengths, as overlays for every layer of a model. Immutable: made once per set,
// and swapped by pointer. Nothing here reads a file or writes to a weight.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "adapt/block_weights.h"
#include "adapt/fitted.h"
#include "device/device.h"
#include "nn/layer.h"

namespace veneer::adapt {

// How several adapters on one layer go together: all against the base weight, or each on the result of those before.
enum class Combine { kSum, kChain };
enum class ApplyMode { kAuto, kImmediately, kAtRuntime };
// What counts as an error (spec: adapters 10).
enum class Policy { kReport, kStrict, kLenient };

std::string_view name_of(Combine combine);
std::string_view name_of(ApplyMode mode);
std::string_view name_of(Policy policy);
std::string_view name_of(DoraConvention convention);
// Empty for a word that is none.
std::optional<Combine> combine_from(std::string_view name);
std::optional<ApplyMode> apply_mode_from(std::string_view name);
std::optional<Policy> policy_from(std::string_view name);
std::optional<DoraConvention> dora_from(std::string_view name);

struct StackEntry {
  std::shared_ptr<const Fitted> fitted;
  double text_encoder = 1, denoiser = 1;  // autoencoders follow the denoiser's
  std::optional<BlockWeights> blocks;     // factors on top, by block of the denoiser
};

struct StackOptions {
  Combine combine = Combine::kSum;
  ApplyMode mode = ApplyMode::kAuto;
  Policy policy = Policy::kReport;
  nn::OverlayOptions overlay;
};

// A part of the model that overlays are made for.
struct StackPart {
  io::Part part;
  const nn::LayerList* layers;
  const device::Device* device;  // that it computes on
};

struct Stack {
  std::map<io::Part, nn::OverlaySet> overlays;  // of every part; all entries null where nothing takes part
  std::vector<Embedding> embeddings;            // that the adapters bring
  Receipt receipt;

  const nn::OverlaySet* overlays_of(io::Part part) const;
};

// What the policy makes of one adapter's account: an error, or lines that the caller shows as warnings.
struct Verdict {
  std::optional<Error> error;
  std::vector<std::string> warnings;
  bool left_out = false;  // lenient: the run goes on without it
};
Verdict judge(const Fitted& fitted, Policy policy);

// Entries are taken in the order of canonical() (layer_programs.h). Runs on the engine thread.
// Errors: as lowering again at another strength has them; no_memory.
Result<std::shared_ptr<const Stack>> build_stack(std::span<const StackEntry> entries, std::span<const StackPart> parts,
                                                 const StackOptions& options);

}  // namespace veneer::adapt
