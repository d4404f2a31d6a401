// Products by oneDNN: the only place that knows it. Primitives are made once per shape and kept; weights are packed
// into the layout that oneDNN multiplies fastest. Only dense activations come here: on AVX-512 oneDNN 2.6 has nothing
// but its reference code for packed weights with strided rows (products.cpp copies those).
#pragma once

#include <memory>
#include <string>

#include "device/operations.h"

namespace veneer::device::cpu {

class OneDnn {
 public:
  OneDnn();  // throws std::bad_alloc
  ~OneDnn();
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;

  std::string instruction_set() const;  // the best that it uses here: "avx512_core_bf16"

  // All of these throw std::bad_alloc when memory is short.
  void pack(const PackMatmul& pack);
  void pack(const PackConv& pack);
  void run(const Matmul& product);  // x_stride == in, y_stride == out
  void run(const Conv& conv);       // y_stride == out

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace veneer::device::cpu
