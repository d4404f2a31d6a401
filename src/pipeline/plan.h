// What a run will occupy, before any work: activations measured on a dry device, weights as held, caches as budgeted.
// Refuses what the machine cannot give.
#pragma once

#include <optional>
#include <string>

#include "core/json.h"
#include "io/model_files.h"
#include "model/model.h"
#include "pipeline/request.h"
#include "pipeline/sizes.h"

namespace veneer::pipeline {

struct Plan {
  struct PartBytes {
    io::Part part;
    uint64_t weights = 0;  // as held
  };
  std::vector<PartBytes> parts;
  uint64_t held_bytes = 0;     // of the weights, in memory of their own; the others are mapped from their files
  uint64_t adapter_bytes = 0;  // of the adapters' tensors
  uint64_t sample_bytes = 0;   // activations of one model call, adapters included, and what it keeps
  uint64_t decode_bytes = 0;   // activations of the decoder, of a tile where it goes in tiles
  uint64_t cache_bytes = 0;    // budget for decoded panels
  uint64_t available = 0;      // memory the machine could give; 0 = unknown
  TilingOptions tiling;        // what encoding and decoding go by: as asked for, or tiles where the whole does not fit
  double sample_flops = 0, decode_flops = 0;  // of one model call, and of decoding (0 when it goes in tiles)

  Json to_json() const;
  std::string line() const;  // for the log
};

// The memory in which panels stay decoded between the steps of a picture, when none is asked for: half of what the
// machine can give beside what is `used` anyway (activations, weights: those of files are read in each step), never
// more than `all_panels`, and none where it would hold less than a quarter of them, which saves two or three per cent
// of a step. `available` is 0 when it is not known.
uint64_t default_cache_bytes(uint64_t available, uint64_t used, uint64_t all_panels);

// What was asked for, or tiles where decoding the whole picture takes more than is `available` (0: not known).
TilingOptions tiling_within(const TilingOptions& asked, uint64_t whole_bytes, uint64_t available);

struct PlanInput {
  const io::ModelFiles& files;
  const model::Model& model;
  const model::Autoencoder& decoder;
  const TilingOptions& tiling;
  Size size;
  int branches;                         // of a model call: 2 when the unconditional pass is needed
  const model::Condition& condition;    // of the sizes that a prompt's will have
  std::optional<uint64_t> cache_bytes;  // asked for
  uint64_t cached_bytes;                // of panels that are there already
  uint64_t held_bytes;
  const adapt::Stack* stack;  // null without adapters
};

// Errors: no_memory with the numbers.
Result<Plan> make_plan(const PlanInput& input);

}  // namespace veneer::pipeline
