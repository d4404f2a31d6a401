// Stacks: programs per layer from all entries, in canonical order, then an overlay for each.
#include "adapt/stack.h"

#include <algorithm>
#include <array>
#include <new>

#include "adapt/layer_programs.h"
#include "adapt/merged.h"
#include "codec/row_view.h"
#include "core/format.h"

namespace veneer::adapt {
namespace {

template <typename Value, size_t kCount>
using Names = std::array<std::pair<Value, std::string_view>, kCount>;

constexpr Names<Combine, 2> kCombines = {{{Combine::kSum, "sum"}, {Combine::kChain, "chain"}}};
constexpr Names<ApplyMode, 3> kModes = {
    {{ApplyMode::kAuto, "auto"}, {ApplyMode::kImmediately, "immediately"}, {ApplyMode::kAtRuntime, "at_runtime"}}};
constexpr Names<Policy, 3> kPolicies = {
    {{Policy::kReport, "report"}, {Policy::kStrict, "strict"}, {Policy::kLenient, "lenient"}}};
constexpr Names<DoraConvention, 3> kDoras = {
    {{DoraConvention::kInterp, "interp"}, {DoraConvention::kPeft, "peft"}, {DoraConvention::kLycoris, "lycoris"}}};

template <typename Value, size_t kCount>
std::string_view name_in(const Names<Value, kCount>& names, Value value) {
  for (const auto& [one, name] : names)
    if (one == value) return name;
  return "";
}

template <typename Value, size_t kCount>
std::optional<Value> value_in(const Names<Value, kCount>& names, std::string_view wanted) {
  for (const auto& [value, name] : names)
    if (name == wanted) return value;
  return std::nullopt;
}

bool is_vector(const nn::Term& term) { return std::holds_alternative<nn::Vector>(term); }

// Why a layer's weight can not become a merged copy, or empty (spec: behaviour 4.4).
std::string merge_blocker(const nn::Layer& layer, const device::Device& device) {
  const std::string_view held = codec::whole_of(layer.weight).codec->name;
  if (held.starts_with("f8")) return "held as FP8";
  if (held == "f64") return "held as F64";
  if (held != "f32" && held != "f16" && held != "bf16") return "held quantized";
  if (!device.host_visible() && !device.can_add_into(held))
    return concat("the device can not add to ", held, " weights in its memory");
  return "";
}

// One layer's overlay and what the receipt says of it.
struct LayerResult {
  std::shared_ptr<const nn::Overlay> overlay;
  Achieved achieved;
  std::string blocker;  // `immediately` was asked and could not be had
};

class Builder {
 public:
  Builder(std::span<const StackPart> parts, const StackOptions& options) : parts_(parts), options_(options) {}

  Result<std::shared_ptr<Stack>> build(const std::vector<LayerPrograms>& all) {
    std::vector<LayerResult> results(all.size());
    bool no_memory = false;
    const auto count = static_cast<int64_t>(all.size());
#pragma omp parallel for schedule(dynamic) reduction(|| : no_memory)
    for (int64_t i = 0; i < count; ++i) {
      try {
        results[static_cast<size_t>(i)] = overlay_for(all[static_cast<size_t>(i)]);
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    }
    if (no_memory) return Error{ErrorCode::kNoMemory, "adapters: memory ran out while they were prepared", "memory"};
    auto stack = std::make_shared<Stack>();
    for (const StackPart& part : parts_) stack->overlays[part.part].resize(part.layers->size());
    for (size_t i = 0; i < all.size(); ++i) account_for(all[i], results[i], *stack);
    return stack;
  }

 private:
  const device::Device& device_of(io::Part part) const {
    const auto found =
        std::find_if(parts_.begin(), parts_.end(), [&](const StackPart& one) { return one.part == part; });
    VENEER_CHECK(found != parts_.end());
    return *found->device;
  }

  LayerResult overlay_for(const LayerPrograms& layer) const {
    LayerResult result;
    std::optional<codec::Weight> copy;
    const bool multiplies = std::any_of(layer.programs.begin(), layer.programs.end(), [](const nn::Program& program) {
      return !std::all_of(program.terms.begin(), program.terms.end(), is_vector);
    });
    if (options_.mode == ApplyMode::kImmediately && multiplies && layer.layer->kind != nn::LayerKind::kNorm) {
      result.blocker = merge_blocker(*layer.layer, device_of(layer.part));
      if (result.blocker.empty()) {
        Merged merged =
            merge_layer(*layer.layer, layer.programs, options_.combine, *codec::whole_of(layer.layer->weight).codec);
        result.achieved = merged.sums.result();
        copy = std::move(merged.weight);
      }
    }
    nn::OverlayOptions overlay = options_.overlay;
    overlay.chain = options_.combine == Combine::kChain;
    result.overlay = nn::make_overlay(*layer.layer, layer.programs, overlay, std::move(copy));
    return result;
  }

  static void account_for(const LayerPrograms& layer, const LayerResult& result, Stack& stack) {
    if (!result.overlay) return;
    stack.overlays[layer.part][static_cast<size_t>(layer.layer->id)] = result.overlay;
    stack.receipt.layers.push_back({layer.layer->name, std::string(codec::whole_of(layer.layer->weight).codec->name),
                                    result.overlay->route, result.overlay->terms, result.overlay->base_products(),
                                    result.achieved.survival, result.achieved.error});
    stack.receipt.held_bytes += result.overlay->held_bytes();
    if (!result.blocker.empty()) ++stack.receipt.not_merged[concat(io::name_of(layer.part), ": ", result.blocker)];
  }

  std::span<const StackPart> parts_;
  const StackOptions& options_;
};

}  // namespace

std::string_view name_of(Combine combine) { return name_in(kCombines, combine); }
std::string_view name_of(ApplyMode mode) { return name_in(kModes, mode); }
std::string_view name_of(Policy policy) { return name_in(kPolicies, policy); }
std::string_view name_of(DoraConvention convention) { return name_in(kDoras, convention); }
std::optional<Combine> combine_from(std::string_view name) { return value_in(kCombines, name); }
std::optional<ApplyMode> apply_mode_from(std::string_view name) { return value_in(kModes, name); }
std::optional<Policy> policy_from(std::string_view name) { return value_in(kPolicies, name); }
std::optional<DoraConvention> dora_from(std::string_view name) { return value_in(kDoras, name); }

const nn::OverlaySet* Stack::overlays_of(io::Part part) const {
  const auto found = overlays.find(part);
  return found == overlays.end() ? nullptr : &found->second;
}

Verdict judge(const Fitted& fitted, Policy policy) {
  const AdapterAccount& account = fitted.account;
  const KeyCounts& keys = account.keys;
  const std::string place = concat("adapter ", account.name, ": ");
  Verdict verdict;
  std::optional<Error> fault;
  if (!fitted.broken.empty()) {
    fault = fitted.broken.front();
    if (!fault->message.starts_with("adapter ")) fault->message = place + fault->message;
  } else if (keys.applied == 0) {
    fault = Error{ErrorCode::kMismatch, concat("no tensor of ", account.path, " fits this model"), account.path};
    if (!account.looks_like.empty()) fault->message += "; " + account.looks_like;
    fault->message += ": " + count_line(account);
  } else if (policy == Policy::kStrict && keys.refused + keys.unmatched > 0) {
    fault = Error{ErrorCode::kMismatch, place + count_line(account), account.path};
  }
  if (fault && policy != Policy::kLenient) {
    verdict.error = std::move(fault);
    return verdict;
  }
  if (fault) verdict.warnings.push_back(fault->message);
  verdict.left_out = keys.applied == 0;
  if (!fault && keys.applied < keys.total) verdict.warnings.push_back(count_line(account));
  for (const std::string& notice : account.notices) verdict.warnings.push_back(place + notice);
  return verdict;
}

Result<std::shared_ptr<const Stack>> build_stack(std::span<const StackEntry> entries, std::span<const StackPart> parts,
                                                 const StackOptions& options) {
  const std::vector<StackEntry> ordered = canonical(entries, options.combine);
  VENEER_TRY(programs, layer_programs(ordered, options.combine));
  VENEER_TRY(stack, Builder(parts, options).build(programs));
  stack->receipt.combine = name_of(options.combine);
  stack->receipt.mode = name_of(options.mode);
  stack->receipt.policy = name_of(options.policy);
  for (const StackEntry& entry : ordered) {
    stack->receipt.dora = name_of(entry.fitted->options.dora);
    AdapterAccount account = entry.fitted->account;
    account.strength = {{"te", entry.text_encoder}, {"diffusion", entry.denoiser}};
    if (entry.blocks) account.blocks = entry.blocks->to_string();
    const auto& words = entry.fitted->embeddings;
    stack->embeddings.insert(stack->embeddings.end(), words.begin(), words.end());
    stack->receipt.adapters.push_back(std::move(account));
  }
  return std::shared_ptr<const Stack>(std::move(stack));
}

}  // namespace veneer::adapt
