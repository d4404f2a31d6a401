// Everything of a network that is not a product: thin faces of the device's operations on tensors of the arena.
// Functions that end in an underscore change their first tensor.
#pragma once

#include "nn/context.h"

namespace veneer::nn {

// Group norm over [batch, height, width, channels] or [batch, tokens, channels], optionally followed by SiLU.
Tensor group_norm(Context& context, const Layer& norm, const Tensor& x, int64_t groups, float epsilon,
                  bool silu = false);
Tensor layer_norm(Context& context, const Layer& norm, const Tensor& x, float epsilon);

void activate_(Context& context, Tensor& x, device::Activation kind);
// [..., 2 n] -> [..., n]: first half * gelu(second half).
Tensor geglu(Context& context, const Tensor& x);

void add_(Context& context, Tensor& y, const Tensor& x);
// y[b, ..., c] += x[b, c].
void add_vector_(Context& context, Tensor& y, const Tensor& x);

// Nearest neighbour to twice the size, cut to height x width.
Tensor upsample(Context& context, const Tensor& x, int64_t height, int64_t width);
// a's channels, then b's.
Tensor concat_channels(Context& context, const Tensor& a, const Tensor& b);
Tensor copy(Context& context, const Tensor& x);

// softmax(q k^T / sqrt(width)) v per head; q [batch, queries, heads * width], k and v [batch, keys, heads * width].
Tensor attention(Context& context, const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads,
                 bool causal = false);

// Rows of the table: [ids] -> [ids.size(), width]. Ids behind the last row are rows of `more` [n, width].
Tensor embed(Context& context, const Layer& table, std::span<const int32_t> ids, const Tensor& more = {});

// [count, width]: cosines, then sines, of t * 10000^(-i / (width / 2)).
Tensor sinusoid(Context& context, std::span<const float> t, int64_t width);

}  // namespace veneer::nn
