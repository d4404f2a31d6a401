// Faces of the device's operations on tensors.
#include "nn/operations.h"

#include <cmath>
#include <cstring>

#include "nn/term_rows.h"

namespace veneer::nn {
namespace {

// The vectors of a norm, as an overlay adapts them.
struct NormVectors {
  const float *gain, *bias;
};
NormVectors vectors_of(const Context& context, const Layer& norm) {
  const Overlay* overlay = context.overlay_of(norm);
  const std::vector<float>& gain = overlay && overlay->norm ? *overlay->norm : norm.gain;
  const std::vector<float>& bias = overlay && overlay->bias ? *overlay->bias : norm.bias;
  return {gain.data(), bias.data()};
}

// Vector `i` of those that belong to the first image, and how far those of the next one are.
const float* vector_of(const Tensor& vectors, int64_t i, int64_t channels) {
  VENEER_CHECK((i + 1) * channels <= vectors.shape.back());
  return vectors.f32() + i * channels;
}
int64_t stride_of(const Tensor& vectors, int64_t batch) {
  const int64_t count = vectors.elements() / vectors.shape.back();
  VENEER_CHECK(count == 1 || count == batch);
  return count == 1 ? 0 : vectors.shape.back();
}

}  // namespace

Tensor group_norm(Context& context, const Layer& norm, const Tensor& x, int64_t groups, float epsilon, bool silu) {
  const int64_t batch = x.shape[0], channels = x.shape.back();
  VENEER_CHECK(channels == norm.out() && channels % groups == 0);
  const auto [gain, bias] = vectors_of(context, norm);
  Tensor y = context.arena.allocate(x.shape);
  context.device.run(device::GroupNorm{x.f32(), batch, x.elements() / batch / channels, channels, groups, gain, bias,
                                       epsilon, silu, y.f32()});
  return y;
}

Tensor layer_norm(Context& context, const Layer& norm, const Tensor& x, float epsilon) {
  const int64_t channels = x.shape.back();
  VENEER_CHECK(channels == norm.out());
  const auto [gain, bias] = vectors_of(context, norm);
  Tensor y = context.arena.allocate(x.shape);
  context.device.run(device::LayerNorm{x.f32(), x.elements() / channels, channels, gain, bias, epsilon, y.f32()});
  return y;
}

Tensor rms_norm(Context& context, const Layer& norm, const Tensor& x, float epsilon) {
  const int64_t width = x.shape.back(), channels = norm.out();
  VENEER_CHECK(width % channels == 0);
  Tensor y = context.arena.allocate(x.shape);
  context.device.run(device::RmsNorm{x.f32(), x.elements() / width, width / channels, channels, width,
                                     vectors_of(context, norm).gain, epsilon, y.f32()});
  return y;
}

void activate_(Context& context, Tensor& x, device::Activation kind) {
  context.device.run(device::Activate{kind, x.f32(), x.elements(), x.f32()});
}

Tensor geglu(Context& context, const Tensor& x) {
  Shape shape = x.shape;
  const int64_t channels = shape.back() / 2;
  shape[shape.rank() - 1] = channels;
  Tensor y = context.arena.allocate(shape);
  context.device.run(device::Geglu{x.f32(), y.elements() / channels, channels, y.f32()});
  return y;
}

void add_(Context& context, Tensor& y, const Tensor& x) {
  VENEER_CHECK(x.elements() == y.elements());
  context.device.run(device::AddScaled{x.f32(), x.elements(), 1.0f, y.f32()});
}

void add_vector_(Context& context, Tensor& y, const Tensor& x) {
  const int64_t batch = y.shape[0], channels = y.shape.back();
  VENEER_CHECK(x.elements() == batch * channels);
  context.device.run(device::AddVector{x.f32(), batch, y.elements() / batch / channels, channels, y.f32(), channels});
}

void multiply_(Context& context, Tensor& y, const Tensor& x) {
  VENEER_CHECK(x.elements() == y.elements());
  context.device.run(device::Multiply{y.f32(), x.f32(), x.elements(), y.f32()});
}

Tensor modulated_norm(Context& context, const Tensor& x, const Tensor& vectors, int64_t shift, int64_t scale,
                      float epsilon) {
  const int64_t batch = x.shape[0], channels = x.shape.back(), rows = x.elements() / channels;
  Tensor y = context.arena.allocate(x.shape);
  context.device.run(device::LayerNorm{x.f32(), rows, channels, nullptr, nullptr, epsilon, y.f32()});
  context.device.run(device::Modulate{y.f32(), batch, rows / batch, channels, vector_of(vectors, scale, channels),
                                      vector_of(vectors, shift, channels), stride_of(vectors, batch), y.f32()});
  return y;
}

void add_gated_(Context& context, Tensor& y, const Tensor& x, const Tensor& vectors, int64_t gate) {
  const int64_t batch = y.shape[0], channels = y.shape.back();
  VENEER_CHECK(x.elements() == y.elements());
  context.device.run(device::AddGated{x.f32(), batch, y.elements() / batch / channels, channels,
                                      vector_of(vectors, gate, channels), stride_of(vectors, batch), y.f32()});
}

void rotate_pairs_(Context& context, Tensor& x, int64_t heads, const Tensor& cosines, const Tensor& sines) {
  const int64_t width = x.shape.back(), batch = x.shape[0], tokens = x.elements() / batch / width;
  VENEER_CHECK(width % (2 * heads) == 0 && cosines.elements() == tokens * (width / heads / 2) &&
               sines.elements() == cosines.elements());
  context.device.run(
      device::RotatePairs{x.f32(), batch, tokens, heads, width / heads, width, cosines.f32(), sines.f32(), x.f32()});
}

Tensor upsample(Context& context, const Tensor& x, int64_t height, int64_t width) {
  const auto& s = x.shape;
  VENEER_CHECK(height <= 2 * s[1] && width <= 2 * s[2]);
  Tensor y = context.arena.allocate({s[0], height, width, s[3]});
  context.device.run(device::Upsample{x.f32(), s[0], s[1], s[2], s[3], height, width, y.f32()});
  return y;
}

Tensor concat_channels(Context& context, const Tensor& a, const Tensor& b) {
  const int64_t rows = a.elements() / a.shape.back();
  VENEER_CHECK(rows == b.elements() / b.shape.back());
  Shape shape = a.shape;
  shape[shape.rank() - 1] = a.shape.back() + b.shape.back();
  Tensor y = context.arena.allocate(shape);
  context.device.run(device::Concat{a.f32(), b.f32(), rows, a.shape.back(), b.shape.back(), y.f32()});
  return y;
}

Tensor concat_tokens(Context& context, const Tensor& a, const Tensor& b) {
  const int64_t batch = a.shape[0], channels = a.shape.back();
  VENEER_CHECK(b.shape[0] == batch && b.shape.back() == channels);
  // Side by side, all tokens of an image being one row.
  const int64_t a_row = a.elements() / batch, b_row = b.elements() / batch;
  Tensor y = context.arena.allocate({batch, (a_row + b_row) / channels, channels});
  context.device.run(device::Concat{a.f32(), b.f32(), batch, a_row, b_row, y.f32()});
  return y;
}

Tensor slice_tokens(Context& context, const Tensor& x, int64_t first, int64_t count) {
  const int64_t batch = x.shape[0], channels = x.shape.back(), tokens = x.elements() / batch / channels;
  VENEER_CHECK(first >= 0 && count >= 0 && first + count <= tokens);
  const size_t token_bytes = static_cast<size_t>(channels) * sizeof(float);
  const size_t begin = static_cast<size_t>(first) * token_bytes, bytes = static_cast<size_t>(count) * token_bytes;
  if (batch == 1) return {{1, count, channels}, x.type, x.data + begin, x.owner};
  Tensor y = context.arena.allocate({batch, count, channels});
  if (context.measuring()) return y;
  for (size_t b = 0; b < static_cast<size_t>(batch); ++b)
    std::memcpy(y.data + b * bytes, x.data + b * static_cast<size_t>(tokens) * token_bytes + begin, bytes);
  return y;
}

Tensor copy(Context& context, const Tensor& x) {
  Tensor y = context.arena.allocate(x.shape);
  if (!context.measuring()) std::memcpy(y.data, x.data, x.bytes());
  return y;
}

Tensor unpatch(Context& context, const Tensor& x, int64_t rows, int64_t columns, int64_t patch, int64_t channels) {
  const int64_t batch = x.shape[0], stored = x.shape.back() / (patch * patch);
  VENEER_CHECK(x.elements() == batch * rows * columns * patch * patch * stored && channels <= stored);
  Tensor y = context.arena.allocate({batch, rows * patch, columns * patch, channels});
  if (context.measuring()) return y;
  const float* from = x.f32();
  for (int64_t token = 0; token < batch * rows * columns; ++token)
    for (int64_t i = 0; i < patch; ++i)
      for (int64_t j = 0; j < patch; ++j, from += stored) {
        const int64_t row = token / columns * patch + i, column = token % columns * patch + j;
        std::copy_n(from, channels, y.f32() + (row * columns * patch + column) * channels);
      }
  return y;
}

Tensor attention(Context& context, const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads,
                 const Scores& scores) {
  const int64_t width = q.shape.back(), batch = q.shape[0];
  VENEER_CHECK(width % heads == 0 && k.shape[0] == batch && k.shape.back() == width && v.shape == k.shape);
  const int64_t queries = q.elements() / batch / width, keys = k.elements() / batch / width;
  VENEER_CHECK(scores.key_mask.empty() || scores.key_mask.elements() == batch * keys);
  VENEER_CHECK(scores.bias.empty() || scores.bias.elements() == heads * queries * keys);
  const int64_t head_width = width / heads;
  const auto root = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_width)));
  Tensor y = context.arena.allocate(q.shape);
  context.device.run(device::Attention{q.f32(), k.f32(), v.f32(), batch, queries, keys, heads, head_width, width, width,
                                       width, scores.scale.value_or(root), scores.causal, scores.key_mask.f32(),
                                       y.f32(), scores.bias.f32()});
  return y;
}

Tensor embed(Context& context, const Layer& table, std::span<const int32_t> ids, const Tensor& more) {
  const int64_t width = table.weight.row_values();
  Tensor y = context.arena.allocate({static_cast<int64_t>(ids.size()), width});
  if (context.measuring()) return y;
  const Overlay* overlay = context.overlay_of(table);
  const codec::Weight& weight = overlay ? overlay->weight_of(table) : table.weight;
  std::vector<float> base;
  for (size_t i = 0; i < ids.size(); ++i) {
    float* row = y.f32() + static_cast<int64_t>(i) * width;
    if (const int64_t other = ids[i] - table.out(); other >= 0) {
      VENEER_CHECK(!more.empty() && other < more.shape[0] && more.shape.back() == width);
      std::copy_n(more.f32() + other * width, width, row);
      continue;
    }
    VENEER_CHECK(ids[i] >= 0);
    weight.decode_rows(ids[i], 1, row);
    if (!overlay) continue;
    base.assign(row, row + width);
    for (const Addend& addend : overlay->beside)
      add_term_rows(addend.term, width, ids[i], 1, addend.factor, base.data(), row);
  }
  return y;
}

Tensor sinusoid(Context& context, std::span<const float> t, int64_t width) {
  const int64_t half = width / 2;
  Tensor y = context.arena.allocate({static_cast<int64_t>(t.size()), width});
  if (context.measuring()) return y;
  for (size_t row = 0; row < t.size(); ++row) {
    float* out = y.f32() + static_cast<int64_t>(row) * width;
    for (int64_t i = 0; i < half; ++i) {
      const double frequency = std::exp(-std::log(10000.0) * static_cast<double>(i) / static_cast<double>(half));
      const double angle = static_cast<double>(t[row]) * frequency;
      out[i] = static_cast<float>(std::cos(angle));
      out[half + i] = static_cast<float>(std::sin(angle));
    }
  }
  return y;
}

}  // namespace veneer::nn
