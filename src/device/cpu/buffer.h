// Memory that the device keeps from call to call: grows to the largest request, aligned to cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace veneer::device::cpu {

constexpr size_t kCacheLine = 64;

struct FreeMemory {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeMemory>;

// Throws std::bad_alloc.
inline AlignedBytes allocate_aligned(size_t bytes) {
  const size_t whole = (bytes / kCacheLine + 1) * kCacheLine;
  AlignedBytes memory(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, whole)));
  if (!memory) throw std::bad_alloc();
  return memory;
}

class Buffer {
 public:
  // At least `bytes`, with undefined content; what an earlier call returned is gone.
  void* reserve(size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;
      memory_ = allocate_aligned(bytes);
      size_ = bytes;
    }
    return memory_.get();
  }
  float* floats(int64_t count) { return static_cast<float*>(reserve(static_cast<size_t>(count) * sizeof(float))); }
  double* doubles(int64_t count) { return static_cast<double*>(reserve(static_cast<size_t>(count) * sizeof(double))); }

 private:
  AlignedBytes memory_;
  size_t size_ = 0;
};

}  // namespace veneer::device::cpu
