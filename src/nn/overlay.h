// What adapters mean for one layer: terms that take part in its product, in float32, before the output is rounded.
// Families of adapters are lowered to these; the product knows terms and nothing of files or families. Immutable: a run
// keeps the set that it started with.
#pragma once

#include <variant>
#include <vector>

#include "core/tensor.h"

namespace veneer::nn {

// y += up (down x). `up` already carries the strength and the file's scale. For a convolution `down` has the layer's
// kernel, stride and padding, and `up` looks at one pixel.
struct Pair {
  Tensor down;  // [rank, in] or [rank, in, kh, kw]
  Tensor up;    // [out, rank]
};

using Term = std::variant<Pair>;

struct Overlay {
  std::vector<Term> terms;
};

// One entry per layer id of a model part; null where nothing is laid over the layer.
using OverlaySet = std::vector<std::shared_ptr<const Overlay>>;

}  // namespace veneer::nn
