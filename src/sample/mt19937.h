// MT19937 (Matsumoto and Nishimura 1998) with the normal numbers of torch's CPU generator, which fills 16 or more
// numbers in blocks and fewer one by one.
#pragma once

#include <optional>
#include <random>

#include "sample/random.h"

namespace veneer::sample {

class Mt19937Generator final : public Generator {
 public:
  explicit Mt19937Generator(uint64_t seed) { reseed(seed); }
  void reseed(uint64_t seed) override;  // the upper half of the seed is ignored, as torch does
  void normal(std::span<float> out) override;

 private:
  float uniform24();   // [0, 1) in steps of 2^-24
  double uniform53();  // [0, 1) in steps of 2^-53
  void fill_uniform(std::span<float> out);
  float next_normal();

  std::mt19937 words_;
  // The second number of a pair drawn one by one; it outlives calls that fill blocks.
  std::optional<float> pending_;
};

}  // namespace veneer::sample
