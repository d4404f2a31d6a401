// The processor: products by oneDNN, everything else by our own vector code (Highway), both on one OpenMP pool.
#pragma once

#include <memory>

#include "device/cpu/buffer.h"
#include "device/cpu/onednn.h"
#include "device/device.h"

namespace veneer::device::cpu {

// `threads` is the size of the pool of the thread that will call. `strict` changes nothing here: every kernel is the
// plain one.
Result<std::unique_ptr<Device>> open(int threads, bool strict);

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads);
  std::string name() const override { return "cpu"; }
  std::string description() const override;

  static CpuDevice& of(Device& device) { return static_cast<CpuDevice&>(device); }

  OneDnn onednn;
  Buffer slice_x, slice_y;     // dense copies of strided rows (products.cpp)
  Buffer packed_keys, blocks;  // attention.cpp
  Buffer moments, affine;      // norms.cpp

 private:
  int threads_;
};

}  // namespace veneer::device::cpu
