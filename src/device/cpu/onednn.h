// Products by oneDNN: the only place that knows it. Primitives are made once per shape and kept; weights are packed
// into the layout that oneDNN multiplies fastest. Only dense activations come here: on AVX-512 oneDNN 2.6 has nothing
// but its reference code for packed weights with strided rows (products.cpp copies those).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/operations.h"

namespace veneer::device::cpu {

// y[i] = x[i] w[i]^T for each of `count` pairs of matrices, all dense.
struct BatchedMatmul {
  int64_t count, rows, out, in;
  Compute compute;  // the type of x and w
  const void* x;    // [count, rows, in]
  const void* w;    // [count, out, in]
  float* y;         // [count, rows, out]
};

// Weights [in, out] in float32 as blocks of [block_in][block_out], zeros beyond the sizes.
struct BlockedLayout {
  static constexpr int64_t kLeastOut = 16;  // block_out is a multiple of it
  int64_t block_in, block_out;
  int64_t in_stride, out_stride;  // values between neighbouring blocks along either side
};

class OneDnn {
 public:
  OneDnn();  // throws std::bad_alloc
  ~OneDnn();
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;

  std::string instruction_set() const;  // the best that it uses here: "avx512_core_bf16"
  bool multiplies_bf16() const;         // by instructions made for it

  // All of these throw std::bad_alloc when memory is short.
  // Memory for the panel, with undefined content, when its layout is one of blocks that the caller can fill; else
  // nothing.
  std::optional<BlockedLayout> reserve_blocked(const PackMatmul& pack);
  // The same for a panel that is the rows as they come, [out, in]; else null.
  float* reserve_plain(const PackMatmul& pack);
  // For all other layouts. `rows` and `weight` are the values of the operation's own source.
  void pack(const PackMatmul& pack, const float* rows);
  void pack(const PackConv& pack, const float* weight);
  // x is dense and of the panel's type, in the place of the operation's own; y_stride == out.
  void run(const Matmul& product, const void* x);
  void run(const Conv& conv, const void* x);
  void run(const BatchedMatmul& product);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veneer::device::cpu
