// What the layers of a loaded model are called in files: made by whoever knows the model, read by whoever has a file to
// match with it. Plain data; names only, no rule of any file format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/model_files.h"
#include "nn/layer.h"

namespace veneer::nn {

// Outputs [first, first + count) of a layer; all of them for an ordinary name.
struct RowRange {
  const Layer* layer = nullptr;
  int64_t first = 0, count = 0;
  bool operator==(const RowRange&) const = default;
};

// One name, without the component's prefix: dotted, or ":12" for the twelfth module of the earliest layout.
struct Spelling {
  io::Part part = io::Part::kDenoiser;
  std::string name;
  std::vector<RowRange> ranges;  // what the name means, in the order of its rows: several where it is a fused matrix
  bool swap_halves = false;      // the name's rows come in the order second half, first half
};

struct NameTable {
  std::vector<io::Part> parts;      // that models of this family have, loaded or not
  std::vector<Spelling> spellings;  // of a layer: the canonical one first, then the original one, then others
};

}  // namespace veneer::nn
