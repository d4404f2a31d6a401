// What a run will occupy, before any work: activations measured on a dry device, weights as held, caches as budgeted.
// Refuses what the machine cannot give.
#pragma once

#include "core/json.h"
#include "io/model_files.h"
#include "model/model.h"
#include "pipeline/request.h"
#include "pipeline/sizes.h"

namespace veneer::pipeline {

struct Plan {
  struct PartBytes {
    io::Part part;
    uint64_t weights = 0;  // as stored, mapped from the file
  };
  std::vector<PartBytes> parts;
  uint64_t sample_bytes = 0;  // activations of one model call
  uint64_t decode_bytes = 0;  // activations of the decoder, a tile at a time
  uint64_t cache_bytes = 0;   // budget for decoded panels
  uint64_t available = 0;     // memory the machine could give; 0 = unknown

  Json to_json() const;
};

// Panels that stay decoded between the steps of a picture, when nothing else is asked for.
inline constexpr uint64_t kDefaultCacheBytes = uint64_t{3} << 29;  // 1.5 GiB

struct PlanInput {
  const io::ModelFiles& files;
  const model::Model& model;
  const model::Autoencoder& decoder;
  const TilingOptions& tiling;
  Size size;
  int64_t batch;   // of a model call: 2 when the unconditional pass is needed
  int64_t tokens;  // of the text
  uint64_t cache_bytes;
};

// Errors: no_memory with the numbers.
Result<Plan> make_plan(const PlanInput& input);

}  // namespace veneer::pipeline
