// The cases of tests/data/adapters: a real layer, the groups of keys of the adapters on it, and what libraries made of
// them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "adapt/family.h"

namespace veneer::test {

struct Expectation {
  std::string convention;
  double multiplier = 1;
  bool is_default = false;
  Tensor weight;
  Tensor bias;  // empty when the case says nothing about it
  Tensor y;     // empty when there is no input
};

struct AdapterCase {
  std::string id, family;
  nn::Layer layer;
  std::vector<adapt::KeyGroup> groups;           // one, or the adapters of a combination
  std::vector<double> multipliers;               // of a combination; else empty
  std::map<std::string, adapt::KeyPart> shared;  // VeRA's projections, which groups point into
  std::vector<Expectation> expectations;
  Tensor x;  // in PyTorch's order, or empty

  adapt::Site site() const { return {&layer, 0, layer.out()}; }
};

// All of them; fails the running test when the data cannot be read.
std::vector<AdapterCase> load_adapter_cases();

}  // namespace veneer::test
