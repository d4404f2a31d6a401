// The operations that a device may have, each a plain structure of its arguments. Activations are float32, row-major,
// [batch, height, width, channels] = [tokens, channels]; where a stride is given, consecutive rows (pixels, tokens) lie
// that many floats apart, so that a slice of columns can be read or written in place. Outputs never overlap inputs
// unless the comment says "may be in place". A kernel is only called with shapes that fit: callers have checked them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "core/tensor.h"

namespace veneer::device {

// What the factors of a product are rounded to; sums and results are float32 always. Devices say what they can
// (Device::can_compute).
enum class Compute { kF32, kBf16 };

// A weight in the layout that a device multiplies fastest. Made by a Pack operation, opaque to everyone else. Packing
// into a panel whose memory nobody else holds may use that memory again.
struct Panel {
  Shape shape;                   // [out, in] or [out, in / groups, kh, kw]
  size_t bytes = 0;              // what it occupies
  std::shared_ptr<void> memory;  // the device's own structure
  // Of a convolution's: inputs of that many pixels (batch * height * width) would get the same arithmetic from a panel
  // of their own; others may be multiplied too, with other roundings and less fast.
  int64_t fewest_pixels = 0, most_pixels = std::numeric_limits<int64_t>::max();
  bool suits(int64_t pixels) const { return fewest_pixels <= pixels && pixels <= most_pixels; }
};

struct ConvGeometry {
  int64_t stride = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t groups = 1;
  static ConvGeometry same(int64_t kernel, int64_t stride = 1) {
    const int64_t pad = kernel / 2;
    return {stride, pad, pad, pad, pad, 1};
  }
  int64_t out_height(int64_t height, int64_t kernel) const {
    return (height + pad_top + pad_bottom - kernel) / stride + 1;
  }
  int64_t out_width(int64_t width, int64_t kernel) const {
    return (width + pad_left + pad_right - kernel) / stride + 1;
  }
};

// The rows of a weight that is to be packed: numbers that are there, [rows, width], or made when the device asks for
// them, so that they need not all be in memory at once. Borrowed while the operation runs.
class RowSource {
 public:
  // Writes rows [first, first + count) to `out`. Called by any thread, for different rows at the same time; must not
  // throw.
  using Make = std::function<void(int64_t first, int64_t count, float* out)>;
  RowSource(const float* values) : values_(values) {}
  RowSource(const Make& make) : make_(&make) {}

  const float* values() const { return values_; }  // null when they are to be made
  void make(int64_t first, int64_t count, float* out) const { (*make_)(first, count, out); }

 private:
  const float* values_ = nullptr;
  const Make* make_ = nullptr;
};

struct PackMatmul {
  RowSource rows;  // [out, in]
  int64_t out, in;
  Panel* panel;
  Compute compute = Compute::kF32;  // of all products with this panel
};

// y[m, n] = x[m, :] . w[n, :], or += when accumulate. Bias-free.
struct Matmul {
  const float* x;
  int64_t rows, x_stride;
  const Panel* w;  // [out, in]
  float* y;
  int64_t y_stride;
  bool accumulate = false;
};

struct PackConv {
  RowSource weight;  // [out, in / groups, kh, kw]
  Shape shape;
  ConvGeometry geometry;
  int64_t batch, height, width;  // of the input it will first meet: a hint for the choice of layout
  Panel* panel;
  Compute compute = Compute::kF32;
};

// Cross-correlation, bias-free; y = or += as for Matmul. The panel was packed for the same geometry; batch, height and
// width may be others than the hint.
struct Conv {
  const float* x;  // [batch, height, width, in], dense
  int64_t batch, height, width;
  const Panel* w;
  ConvGeometry geometry;
  float* y;  // [batch, out_height, out_width, out] with y_stride floats between pixels
  int64_t y_stride;
  bool accumulate = false;
};

// softmax(q k^T * scale) v per head; head i is columns [i d, (i + 1) d). A query whose keys are all masked by -infinity
// gets the mean of v over the keys it would see.
struct Attention {
  const float *q, *k, *v;
  int64_t batch, queries, keys, heads, head_width;
  int64_t q_stride, k_stride, v_stride;  // floats between tokens; batches are `queries` or `keys` tokens apart
  float scale;
  bool causal;                  // query i sees keys 0..i
  const float* key_mask;        // [batch, keys] added to the scores, or null
  float* y;                     // [batch, queries, heads * head_width], dense
  const float* bias = nullptr;  // [heads, queries, keys] added to the scores, or null
  Compute compute = Compute::kF32;
};

// y = (x - mean) / sqrt(variance + epsilon) * gain + bias over each group of channels and all pixels of an image; may
// be in place.
struct GroupNorm {
  const float* x;
  int64_t batch, pixels, channels, groups;
  const float *gain, *bias;  // [channels]
  float epsilon;
  bool silu;  // apply x * sigmoid(x) to the result
  float* y;
};

// The same over each row; gain and bias may be null; may be in place.
struct LayerNorm {
  const float* x;
  int64_t rows, channels;
  const float *gain, *bias;
  float epsilon;
  float* y;
};

// y = x / sqrt(mean of x^2 + epsilon) * gain over each head: `heads` runs of `channels` values in every row, all under
// the same gain. Rows of x and y lie `stride` floats apart; may be in place.
struct RmsNorm {
  const float* x;
  int64_t rows, heads, channels, stride;
  const float* gain;  // [channels]
  float epsilon;
  float* y;
};

enum class Activation { kSilu, kGelu, kGeluTanh, kQuickGelu, kRelu, kTanhThird };  // kTanhThird: 3 tanh(x / 3)

// Element by element; may be in place.
struct Activate {
  Activation kind;
  const float* x;
  int64_t count;
  float* y;
};

// y[i] = x[i, c] * gelu(x[i, channels + c]): the second half of a row is the gate, erf form.
struct Geglu {
  const float* x;  // [rows, 2 channels]
  int64_t rows, channels;
  float* y;  // [rows, channels]
};

// y += scale * x.
struct AddScaled {
  const float* x;
  int64_t count;
  float scale;
  float* y;
};

// y[b, p, c] += x[b, c]: a bias (batch 1) or a time embedding, with y_stride floats between pixels.
struct AddVector {
  const float* x;  // [batch, channels]
  int64_t batch, pixels, channels;
  float* y;
  int64_t y_stride;
};

// y[b, t, c] = x[b, t, c] * (1 + scale[b, c]) + shift[b, c]; the vectors of consecutive batches lie `vector_stride`
// floats apart (0: one for all); may be in place.
struct Modulate {
  const float* x;
  int64_t batch, tokens, channels;
  const float *scale, *shift;
  int64_t vector_stride;
  float* y;
};

// y[b, t, c] += gate[b, c] * x[b, t, c]; gates of consecutive batches lie `gate_stride` floats apart.
struct AddGated {
  const float* x;
  int64_t batch, tokens, channels;
  const float* gate;
  int64_t gate_stride;
  float* y;
};

// y = a * b; may be in place.
struct Multiply {
  const float *a, *b;
  int64_t count;
  float* y;
};

// Rotary positions: the adjacent pair (x[2k], x[2k + 1]) of every head turned by the k-th angle of its token, to
// (x[2k] cos - x[2k + 1] sin, x[2k + 1] cos + x[2k] sin). Rows of x and y lie `stride` floats apart; may be in place.
struct RotatePairs {
  const float* x;
  int64_t batch, tokens, heads, head_width, stride;
  const float *cosines, *sines;  // [tokens, head_width / 2]
  float* y;
};

// Nearest neighbour, twice as high and wide: y[h, w] = x[h / 2, w / 2], cut to out_height x out_width.
struct Upsample {
  const float* x;  // [batch, height, width, channels]
  int64_t batch, height, width, channels;
  int64_t out_height, out_width;  // at most 2 height x 2 width
  float* y;
};

// Rows of a beside rows of b: [rows, a_channels + b_channels].
struct Concat {
  const float *a, *b;
  int64_t rows, a_channels, b_channels;
  float* y;
};

// y[r, c] = factors[c] * x[r, c]; rows of both lie `stride` floats apart; may be in place.
struct ScaleColumns {
  const float* x;
  int64_t rows, channels, stride;
  const float* factors;  // [channels]
  float* y;
};

// Each run of n channels of a row times its own matrix: y[r, b n + i] = sum_j blocks[b, j, i] x[r, b n + j], where
// position k of a row means channel order[k] on both sides (k itself when order is null). Rows of both lie `stride`
// floats apart.
struct RotateColumns {
  const float* x;
  int64_t rows, channels, stride;
  const float* blocks;  // [channels / n, n (of x), n (of y)]
  int64_t n;
  const int32_t* order;  // [channels] or null
  float* y;
};

// y[r, p * width + u] += scale * sum_q left[p, q] x[r, q * width + u]: the outer half of a Kronecker product. Rows of y
// lie y_stride floats apart.
struct MixGroups {
  const float* x;  // [rows, in_groups * width]
  int64_t rows, width;
  const float* left;  // [out_groups, in_groups]
  int64_t out_groups, in_groups;
  float scale;
  float* y;
  int64_t y_stride;
};

// y += scale * (a - b): exactly nothing where a and b are equal.
struct AddDifference {
  const float *a, *b;
  int64_t count;
  float scale;
  float* y;
};

// All of them; the order has no meaning.
template <typename... Operation>
struct OperationList {
  static constexpr size_t kSize = sizeof...(Operation);
};
using Operations = OperationList<PackMatmul, Matmul, PackConv, Conv, Attention, GroupNorm, LayerNorm, RmsNorm, Activate,
                                 Geglu, AddScaled, AddVector, Modulate, AddGated, Multiply, RotatePairs, Upsample,
                                 Concat, ScaleColumns, RotateColumns, MixGroups, AddDifference>;

}  // namespace veneer::device
