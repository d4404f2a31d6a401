// Rounded copies of weights with everything worked in: the route `merged`, on request only. What a copy lost is
// measured while it is made.
#pragma once

#include <span>

#include "adapt/stack.h"

namespace veneer::adapt {

// With D the wanted change of the weight and A the achieved one: survival = <A, D> / <D, D>, error = |A - D| / |D|.
struct Achieved {
  double survival = 1, error = 0;
};

// Sums over rows of weights, so that many layers come to one figure.
class AchievedSums {
 public:
  void add(double base, double wanted, double achieved) {
    const double d = wanted - base, a = achieved - base;
    dd_ += d * d;
    ad_ += a * d;
    ee_ += (a - d) * (a - d);
  }
  void add(const AchievedSums& other);
  Achieved result() const;

 private:
  double dd_ = 0, ad_ = 0, ee_ = 0;
};

struct Merged {
  codec::Weight weight;  // of the layer's shape, held as `codec`
  AchievedSums sums;
};

// The layer with its weight, in float32, as the program leaves it: what the next adapter of a chain is laid over.
nn::Layer layer_after(const nn::Layer& layer, const nn::Program& program);

// The whole weight with the programs, in double.
std::vector<double> wanted_weight(const nn::Layer& layer, std::span<const nn::Program> programs, Combine combine);

// The same rounded once to `codec`, which must be a plain type that can be encoded.
Merged merge_layer(const nn::Layer& layer, std::span<const nn::Program> programs, Combine combine,
                   const codec::Codec& codec);

}  // namespace veneer::adapt
