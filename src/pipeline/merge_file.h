// Merging adapters into a new model file. The source is never written; what the formats of the output keep of the
// change is measured on the output itself, before it gets its name.
#pragma once

#include <optional>

#include "pipeline/adapted_model.h"
#include "pipeline/convert.h"

namespace veneer::pipeline {

struct MergeOptions {
  ConvertOptions convert;              // paths, output, types and names of the new model
  std::optional<double> min_survival;  // in every format; unset: 0.95 in those that are no plain floats
};

// Writes the model with the adapters worked in: exactly where they fit SDNQ's side factors, else by storing the sum in
// the format that the weight has or is brought into. Weights that no adapter touches and that keep their type are
// copied byte for byte. `model` was opened from the same paths. The report is that of convert() and
// "merge": {"types": [{"type", "layers", "survival", "error"}], "total": {"layers", "vectors", "survival", "error"},
//           "layers": [{"layer", "type", "survival", "error"}], "flagged": [names of layers with a survival below 0.95
//           or an error above 0.3]}
// where `vectors` counts changed biases. Where a weight's type changes too, what counts is the difference to the output
// that the model alone would give.
// Errors: those of convert(); unsupported for a change that has no place in the output (a bias that the file lacks, a
// part that is not written); verify_failed, naming survival and format, when it is below min_survival: nothing is left
// behind then.
Result<Json> merge_file(const AdaptedModel& model, std::span<const adapt::StackEntry> entries,
                        const MergeOptions& options, const Log& log, const ConvertProgress& progress,
                        const CancelFlag& cancel);

}  // namespace veneer::pipeline
