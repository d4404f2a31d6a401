// The plan of a run.
#include "pipeline/plan.h"

#include <algorithm>

#include "core/format.h"
#include "pipeline/guided_denoiser.h"
#include "pipeline/vision.h"

namespace veneer::pipeline {

Json Plan::to_json() const {
  Json json;
  for (const PartBytes& part : parts) json["weights"][std::string(io::name_of(part.part))] = part.weights;
  json["sample_activations"] = sample_bytes;
  json["decode_activations"] = decode_bytes;
  json["held_in_memory"] = held_bytes;
  json["panel_cache"] = cache_bytes;
  json["adapters"] = adapter_bytes;
  json["sample_flops"] = sample_flops;
  json["decode_flops"] = decode_flops;
  json["available"] = available;
  return json;
}

std::string Plan::line() const {
  uint64_t weights = 0;
  for (const PartBytes& part : parts) weights += part.weights;
  return concat("plan: weights ", bytes_text(weights),
                held_bytes > 0 ? concat(" (", bytes_text(held_bytes), " of them in memory)") : "",
                adapter_bytes > 0 ? concat(", adapters ", bytes_text(adapter_bytes)) : "", ", a model call ",
                bytes_text(sample_bytes), ", decoding ", bytes_text(decode_bytes), ", decoded weights kept up to ",
                bytes_text(cache_bytes), available > 0 ? concat("; the machine can give ", bytes_text(available)) : "");
}

uint64_t default_cache_bytes(uint64_t available, uint64_t used, uint64_t all_panels) {
  constexpr uint64_t kUnknown = uint64_t{3} << 29;  // 1.5 GiB
  const uint64_t spare = available > used ? available - used : 0;
  const uint64_t budget = std::min(all_panels, available > 0 ? spare / 2 : kUnknown);
  return budget < all_panels / 4 ? 0 : budget;
}

TilingOptions tiling_within(const TilingOptions& asked, uint64_t whole_bytes, uint64_t available) {
  TilingOptions tiling = asked;
  tiling.enabled = asked.enabled || (available > 0 && whole_bytes > available);
  return tiling;
}

namespace {

// Of a network's products at most: sizes rounded up to whole vectors, and a 3x3 kernel as the 36 numbers that it may
// take (device/cpu/winograd.h).
uint64_t panel_bytes(const model::Network* network) {
  uint64_t total = 0;
  const auto rounded = [](int64_t size) { return static_cast<uint64_t>((size + 15) / 16 * 16); };
  if (network)
    for (const nn::Layer& layer : network->layers().all()) {
      if (layer.kind != nn::LayerKind::kLinear && layer.kind != nn::LayerKind::kConv2d) continue;
      const uint64_t kernel = layer.kernel_size() == 9 ? 36 : static_cast<uint64_t>(layer.kernel_size());
      total += rounded(layer.out()) * rounded(layer.weight.row_values() / layer.kernel_size()) * kernel * sizeof(float);
    }
  return total;
}

// Of the weights that the steps read again and again; what is held in memory is no longer available anyway.
uint64_t mapped_bytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const Plan::PartBytes& part : plan.parts)
    if (part.part == io::Part::kDenoiser) bytes += part.weights;
  return bytes > plan.held_bytes ? bytes - plan.held_bytes : 0;
}

}  // namespace

Result<Plan> make_plan(const PlanInput& input) {
  Plan plan;
  for (const auto& [part, content] : input.files.parts) plan.parts.push_back({part, content.weights.bytes()});
  const int64_t height = input.size.height / input.decoder.factor(), width = input.size.width / input.decoder.factor();
  const nn::OverlaySet* overlays = input.stack ? input.stack->overlays_of(io::Part::kDenoiser) : nullptr;
  const Footprint call =
      measure_denoise(*input.model.denoiser, input.condition, input.branches, height, width, overlays);
  plan.available = available_memory();
  if (plan.available > 0) plan.available += input.cached_bytes;  // which would make room
  Footprint decoding = measure_decode(input.decoder, height, width, input.tiling);
  plan.tiling = tiling_within(input.tiling, decoding.bytes, plan.available);
  if (plan.tiling != input.tiling) decoding = measure_decode(input.decoder, height, width, plan.tiling);
  plan.sample_bytes = call.bytes + call.kept_bytes;
  plan.sample_flops = call.flops;
  plan.decode_bytes = decoding.bytes;
  if (!plan.tiling.enabled) plan.decode_flops = decoding.flops;
  if (input.stack) plan.adapter_bytes = static_cast<uint64_t>(input.stack->receipt.held_bytes);
  plan.held_bytes = input.held_bytes;
  // Mapped weights can leave memory and come back; activations cannot, and the phases follow each other.
  const uint64_t needed = std::max(plan.sample_bytes, plan.decode_bytes);
  const uint64_t panels = panel_bytes(input.model.denoiser.get()) + panel_bytes(input.model.vae.get()) +
                          panel_bytes(input.model.tiny_vae.get());
  const uint64_t used = needed + mapped_bytes(plan);
  plan.cache_bytes = input.cache_bytes.value_or(default_cache_bytes(plan.available, used, panels));
  if (plan.available > 0 && needed > plan.available)
    return Error{ErrorCode::kNoMemory,
                 concat("a picture of ", input.size.width, "x", input.size.height, " needs ", bytes_text(needed),
                        " for its activations (a model call ", bytes_text(plan.sample_bytes), ", decoding ",
                        bytes_text(plan.decode_bytes), "), the machine can give ", bytes_text(plan.available),
                        "; ask for a smaller picture"),
                 "plan"};
  return plan;
}

}  // namespace veneer::pipeline
