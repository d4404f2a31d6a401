// The programs that a set of adapters has for each layer, in the order in which they are summed. What a stack makes
// overlays of, and what merging works into weights.
#pragma once

#include "adapt/stack.h"

namespace veneer::adapt {

// All programs of one layer.
struct LayerPrograms {
  io::Part part = io::Part::kDenoiser;
  const nn::Layer* layer = nullptr;
  std::vector<nn::Program> programs;
};

// Entries that differ in strength only become one with the sum of their strengths. Sums go in an order that the files'
// hashes give, chains in the order given.
std::vector<StackEntry> canonical(std::span<const StackEntry> entries, Combine combine);

// By part and layer; layers without a program are left out. `entries` are canonical. In a chain, what depends on the
// weight (the norms of DoRA) is worked out on the weight as the programs before leave it.
// Errors: as lowering again has them; unsupported for a chain that no product can carry.
Result<std::vector<LayerPrograms>> layer_programs(std::span<const StackEntry> entries, Combine combine);

}  // namespace veneer::adapt
