// Reference numbers from safetensors files under tests/data, and comparison with a stated tolerance.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/tensor.h"
#include "io/weight_store.h"

namespace veneer::test {

// tests/data/<path>.
std::filesystem::path data_path(const std::string& path);

class Golden {
 public:
  // Fails the test when the file cannot be opened.
  explicit Golden(const std::string& path);
  // As stored (PyTorch's dimension order), float32. Integer tensors by ids().
  Tensor tensor(const std::string& name) const;
  // [1, C, H, W] as [1, H, W, C].
  Tensor map(const std::string& name) const { return nchw_to_nhwc(tensor(name)); }
  std::vector<int32_t> ids(const std::string& name) const;

 private:
  io::WeightStore store_;
};

// The largest |a - b| is at most tolerance * max|b|, and all values are finite.
testing::AssertionResult close_to(const Tensor& a, const Tensor& b, double tolerance);

// Two tensors of batch 1 as one of batch 2.
Tensor as_batch(const Tensor& a, const Tensor& b);

}  // namespace veneer::test
