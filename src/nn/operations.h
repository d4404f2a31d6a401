// Everything of a network that is not a product: thin faces of the device's operations on tensors of the arena.
// Functions that end in an underscore change their first tensor.
#pragma once

#include <optional>

#include "nn/context.h"

namespace veneer::nn {

// Group norm over [batch, height, width, channels] or [batch, tokens, channels], optionally followed by SiLU.
Tensor group_norm(Context& context, const Layer& norm, const Tensor& x, int64_t groups, float epsilon,
                  bool silu = false);
Tensor layer_norm(Context& context, const Layer& norm, const Tensor& x, float epsilon);
// x / sqrt(mean of x^2 + epsilon) * gain over each run of norm.out() channels: the whole row, or one head after the
// other.
Tensor rms_norm(Context& context, const Layer& norm, const Tensor& x, float epsilon);

void activate_(Context& context, Tensor& x, device::Activation kind);
// [..., 2 n] -> [..., n]: first half * gelu(second half).
Tensor geglu(Context& context, const Tensor& x);

void add_(Context& context, Tensor& y, const Tensor& x);
// y[b, ..., c] += x[b, c].
void add_vector_(Context& context, Tensor& y, const Tensor& x);
void multiply_(Context& context, Tensor& y, const Tensor& x);

// Vectors of [1 or batch, n * channels] that a network makes from its conditions; `shift`, `scale` and `gate` say which
// of the n. The norm has no gain and no bias of its own: layer norm(x) * (1 + scale) + shift.
Tensor modulated_norm(Context& context, const Tensor& x, const Tensor& vectors, int64_t shift, int64_t scale,
                      float epsilon);
// y += gate * x.
void add_gated_(Context& context, Tensor& y, const Tensor& x, const Tensor& vectors, int64_t gate);

// Rotary positions: every adjacent pair of each head turned by its angle; the tables are [tokens, head width / 2].
void rotate_pairs_(Context& context, Tensor& x, int64_t heads, const Tensor& cosines, const Tensor& sines);

// Nearest neighbour to twice the size, cut to height x width.
Tensor upsample(Context& context, const Tensor& x, int64_t height, int64_t width);
// a's channels, then b's.
Tensor concat_channels(Context& context, const Tensor& a, const Tensor& b);
// a's tokens, then b's: [batch, a + b, channels].
Tensor concat_tokens(Context& context, const Tensor& a, const Tensor& b);
// Tokens [first, first + count) of x [batch, tokens, channels]; shares the memory of x where they lie in one run.
Tensor slice_tokens(Context& context, const Tensor& x, int64_t first, int64_t count);
Tensor copy(Context& context, const Tensor& x);

// [batch, rows * columns, patch * patch * n] -> [batch, rows * patch, columns * patch, channels]: a token's values are
// ordered by row, column and channel inside its patch; of its n channels the first ones are kept.
Tensor unpatch(Context& context, const Tensor& x, int64_t rows, int64_t columns, int64_t patch, int64_t channels);

// What attention does to its scores before the softmax.
struct Scores {
  bool causal = false;              // query i sees keys 0..i
  Tensor key_mask = {};             // [batch, keys], added (0 or -infinity); empty: all take part
  Tensor bias = {};                 // [heads, queries, keys], added; may be empty
  std::optional<float> scale = {};  // 1 / sqrt(width) unless given
};
// softmax(q k^T * scale) v per head; q [batch, queries, heads * width], k and v [batch, keys, heads * width].
Tensor attention(Context& context, const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads,
                 const Scores& scores = {});

// Rows of the table: [ids] -> [ids.size(), width]. Ids behind the last row are rows of `more` [n, width].
Tensor embed(Context& context, const Layer& table, std::span<const int32_t> ids, const Tensor& more = {});

// [count, width]: cosines, then sines, of t * 10000^(-i / (width / 2)).
Tensor sinusoid(Context& context, std::span<const float> t, int64_t width);

}  // namespace veneer::nn
