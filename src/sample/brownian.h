// One Brownian path per element over noise levels, so that the noise of a step depends on where the step begins and
// ends and not on how many steps there are.
//
// Levy's construction: W(t) is a sum of one normal number per node on the way down a tree of halved intervals, times
// the height of that node's hat function at t. Any W(t) is computed directly; nothing but the keys is stored.
#pragma once

#include <span>
#include <vector>

namespace veneer::sample {

class BrownianTree {
 public:
  // The path over [0, sigma_max], sigma_max > 0. Element i is keyed by the bits of first[i] and second[i], two draws of
  // the sampler's generator, so its path does not depend on the order of the elements in memory.
  BrownianTree(double sigma_max, std::span<const float> first, std::span<const float> second);

  // (W(from) - W(to)) / sqrt(from - to): standard normal for each element. Needs 0 <= to < from <= sigma_max.
  void increment(double from, double to, std::span<float> out) const;

 private:
  double sigma_max_;
  std::vector<float> first_, second_;
};

}  // namespace veneer::sample
