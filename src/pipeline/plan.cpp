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
  json["panel_cache"] = cache_bytes;
  json["available"] = available;
  return json;
}

Result<Plan> make_plan(const PlanInput& input) {
  Plan plan;
  for (const auto& [part, content] : input.files.parts) plan.parts.push_back({part, content.weights.bytes()});
  const int64_t height = input.size.height / input.decoder.factor(), width = input.size.width / input.decoder.factor();
  plan.sample_bytes = measure_denoise(*input.model.denoiser, input.batch, height, width, input.tokens);
  plan.decode_bytes = measure_decode(input.decoder, height, width, input.tiling);
  plan.cache_bytes = input.cache_bytes;
  plan.available = available_memory();
  // Mapped weights can leave memory and come back; activations cannot, and the phases follow each other.
  const uint64_t needed = std::max(plan.sample_bytes, plan.decode_bytes);
  if (plan.available > 0 && needed > plan.available)
    return Error{ErrorCode::kNoMemory,
                 concat("a picture of ", input.size.width, "x", input.size.height, " needs ", bytes_text(needed),
                        " for its activations (a model call ", bytes_text(plan.sample_bytes), ", decoding ",
                        bytes_text(plan.decode_bytes), "), the machine can give ", bytes_text(plan.available),
                        "; ask for a smaller picture or use --vae-tiling"),
                 "plan"};
  return plan;
}

}  // namespace veneer::pipeline
