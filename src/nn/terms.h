// The seven things that an adapter can do to a layer. Families of adapters are lowered to these; the product knows them
// and nothing of files or families. Tensors are float32; sizes are those of the layer (or of the range of its outputs
// that a program covers), checked by whoever lowers.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "codec/weight.h"
#include "core/tensor.h"

namespace veneer::nn {

// Where a term acts: on what goes into the base product, or on what comes out of it.
enum class Side { kInput, kOutput };

// z += scale * up (down x). For a convolution `down` has the layer's kernel, stride and padding, and `up` looks at one
// pixel. On the input side x += scale * up (down x), pixel by pixel.
struct Pair {
  Tensor down;  // [rank, in] or [rank, in, kh, kw]
  Tensor up;    // [out, rank]; on the input side [in, rank]
  float scale = 1;
  Side side = Side::kOutput;
};

// z += scale * (left (x) right) x, where (x) is the Kronecker product: block (p, q) of the matrix is left[p, q] *
// right. When `right_up` is not empty, right = right_up * right_down is kept as its factors.
struct Kron {
  Tensor left;        // [a, b]
  Tensor right_down;  // [c, d] or [c, d, kh, kw]; with right_up: [rank, d] or [rank, d, kh, kw]
  Tensor right_up;    // [c, rank] or empty
  float scale = 1;
};

// z += scale * delta x. The matrix is never held whole: `rows` writes rows [first, first + count) of it, row-major
// [count, in / groups * kh * kw], over what it is given there: the decoded rows of the layer's own weight when
// `needs_base`, else anything.
struct Dense {
  std::function<void(int64_t first, int64_t count, float* rows)> rows;
  bool needs_base = false;
  float scale = 1;
  std::string what;        // for the receipt: "loha r=16", "difference"
  int64_t held_bytes = 0;  // of the tensors that `rows` reads
};

// An addition to the layer's bias, or to the weight vector of a norm.
struct Vector {
  enum class Of { kBias, kWeight };
  Of of = Of::kBias;
  Tensor delta;  // [n]
};

// z = factors * z per output channel, or x = factors * x per input channel. The bias is not scaled.
struct Gain {
  Tensor factors;  // [out] or [in]
  Side side = Side::kOutput;
};

// Block-diagonal rotation of z (per output channel) or x (per input channel): the channels are taken in the order
// `order` (position i holds channel order[i]; empty: as they are), each run of n is multiplied by its block, and they
// go back to their places: v'[order[b n + i]] = sum_j blocks[b][i, j] v[order[b n + j]]. Not necessarily orthogonal.
struct Rotate {
  Tensor blocks;  // [count, n, n], count * n = channels
  std::vector<int32_t> order;
  Side side = Side::kOutput;
};

// Another weight in the place of the layer's own, of the same shape. For norms: another vector.
struct Replace {
  codec::Weight weight;
};

using Term = std::variant<Pair, Kron, Dense, Vector, Gain, Rotate, Replace>;

// What one adapter does to one layer: a small program. Terms run in order on x and on z, which begins as W x of the x
// that all input-side terms of the program have turned; additive terms use x as it is when they are reached. The layer
// receives y += amount * (z - W x); vectors receive amount * delta; a replacement counts when amount is not 0. When a
// strength does not act linearly it is worked into the terms, and amount is 1.
struct Program {
  std::vector<Term> terms;
  float amount = 1;
  // The range of the layer's outputs that the program is about, when it is not all of them: a slice of a fused weight.
  // Output-side sizes of terms are `rows` then.
  int64_t first_row = 0, rows = 0;  // rows 0: all

  // Neutral changes (amount 0, no terms) leave a layer untouched bit for bit.
  bool is_neutral() const { return amount == 0 || terms.empty(); }
};

// It changes what goes into the base product.
bool acts_on_input(const Term& term);
// A Dense term that is worked out from the layer's own decoded rows.
bool needs_base(const Term& term);
int64_t held_bytes(const Term& term);
// For receipts: "pair r=16", "gain", "rotate 8 x 40".
std::string describe(const Term& term);

}  // namespace veneer::nn
