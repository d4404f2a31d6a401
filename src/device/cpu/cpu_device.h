// The processor: products by oneDNN, everything else by our own vector code (Highway), both on one OpenMP pool.
#pragma once

#include <memory>

#include "device/cpu/buffer.h"
#include "device/cpu/onednn.h"
#include "device/device.h"

namespace veneer::device::cpu {

// `threads` is the size of the pool of the thread that will call. `strict` keeps to convolutions by their definition.
Result<std::unique_ptr<Device>> open(int threads, bool strict);

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, bool strict);
  std::string name() const override { return "cpu"; }
  std::string description() const override;

  bool can_compute(Compute compute) const override {
    return compute == Compute::kF32 || (onednn.multiplies_bf16() && !strict_);
  }
  bool strict() const { return strict_; }

  static CpuDevice& of(Device& device) { return static_cast<CpuDevice&>(device); }

  OneDnn onednn;
  Buffer slice_x, slice_y;     // dense copies of strided rows (products.cpp)
  Buffer made_rows;            // row_blocks.h
  Buffer components, sums;     // winograd.cpp, gathered.cpp
  Buffer packed_keys, blocks;  // attention.cpp
  Buffer moments, affine;      // norms.cpp

 private:
  int threads_;
  bool strict_;
};

}  // namespace veneer::device::cpu
