// The erasure report: what merging adapters into a number format would keep of them, layer by layer, against what they
// deliver as overlays.
#pragma once

#include <optional>

#include "core/json.h"
#include "io/type_rules.h"
#include "pipeline/adapted_model.h"

namespace veneer::pipeline {

// For each layer whose weight the entries change: merging into `type` (unset, or where it cannot hold the layer: the
// format in which the layer is held), measured and predicted (adapt/erasure.h), and the overlay's product with random
// inputs on the processor in float32, against the same in double. Large layers are sampled by rows.
// {"type": NAME or null, "layers": [{"layer", "held", "type": NAME or null (a format that is only read), "rho",
//  "merged": {"survival", "error"} or null, "predicted": the same or null, "overlay": the same or null (no product)}],
//  "total": {"layers", "rho", "merged", "predicted", "overlay"}}
// Errors: bad_file for weights that cannot be encoded; no_memory.
Result<Json> verify_adapters(AdaptedModel& model, std::span<const adapt::StackEntry> entries,
                             const std::optional<io::TargetType>& type, int threads);

}  // namespace veneer::pipeline
