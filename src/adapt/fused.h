// A name of a file that stands for several layers of the model (one matrix for q, k and v), or for a layer whose halves
// the file has in the other order. Such keys are lowered once, for the matrix that the file means, and then cut.
#pragma once

#include "adapt/family.h"
#include "adapt/row_cut.h"

namespace veneer::adapt {

struct Fusion {
  std::shared_ptr<const nn::Layer> whole;  // as the file has it; its weight is read from those of the model
  std::vector<Site> sites;                 // the model's layers
  std::vector<RowWindow> windows;          // of `whole`, for each site
};

// `sites` in the order of the name's rows. Null for a place that is no such thing.
std::shared_ptr<const Fusion> fuse(const std::vector<Site>& sites, bool swap_halves);

// One Lowered for each site; all say the same of strength, notices (the first only) and used parts.
// Errors: as lower() and cut_rows have them.
Result<std::vector<Lowered>> lower_fused(const KeyGroup& keys, const Fusion& fusion, const LowerOptions& options);

}  // namespace veneer::adapt
