// The original spelling of a network's modules as data: which layers a module holds, in the order of its rows. Read
// in both directions: to take a file apart, and to name places for adapters.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/name_map.h"
#include "nn/spelling.h"

namespace veneer::model {

struct OriginalModule {
  struct Part {
    std::string layer;   // canonical, without the component
    int64_t widths = 1;  // its rows, in widths of the network; only told apart where there are several parts
  };
  std::string name;
  std::vector<Part> parts;   // one: the module is that layer
  bool swap_halves = false;  // its rows come in the order second half, first half; two widths in all
};

// A module that is one layer.
OriginalModule same_module(std::string name, std::string layer);

// From the original spelling of a file to the canonical one, for a network of that width.
NameMap canonical_map(std::span<const OriginalModule> modules, int64_t width);

// The original names of those of `layers` (named with their component in front) that all parts of a module are among.
std::vector<nn::Spelling> original_spellings(std::span<const OriginalModule> modules, io::Part part,
                                             const nn::LayerList& layers);

}  // namespace veneer::model
