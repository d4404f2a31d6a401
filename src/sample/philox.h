// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and the normal numbers that
// torch's CUDA generator makes of it. Counter-based: any number can be had without those before it.
#pragma once

#include <array>
#include <cstdint>

#include "sample/random.h"

namespace veneer::sample {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds.
PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key);

// The sine branch of Box-Muller on the first two words of a block; the other half of the block is left unused, as in
// the CUDA kernel.
double philox_normal(const PhiloxCounter& counter, const PhiloxKey& key);

// Number i of draw j is the block of counter (j, 0, i, 0) under the key (low, high half of the seed): the numbers of a
// draw do not depend on how many were asked for before.
class PhiloxGenerator final : public Generator {
 public:
  explicit PhiloxGenerator(uint64_t seed) { reseed(seed); }
  void reseed(uint64_t seed) override;
  void normal(std::span<float> out) override;

 private:
  PhiloxKey key_{};
  uint32_t draw_ = 0;
};

}  // namespace veneer::sample
