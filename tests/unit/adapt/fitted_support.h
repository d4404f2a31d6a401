// Adapters that fit layers without a file or a model: what a stack is built of.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "adapt/stack.h"

namespace veneer::adapt::test {

struct Place {
  const nn::Layer* layer;
  KeyGroup keys;
  io::Part part = io::Part::kDenoiser;
};

// The identity stands for the hash of a file, by which sums are ordered.
inline std::shared_ptr<const Fitted> fitted_to(const std::string& identity, const std::vector<Place>& places) {
  auto adapter = std::make_shared<Adapter>();
  adapter->name = adapter->sha256 = identity;
  auto fitted = std::make_shared<Fitted>();
  fitted->adapter = std::move(adapter);
  for (const Place& place : places) {
    const Site site{place.layer, 0, place.layer->out()};
    auto lowered = lower(place.keys, site, fitted->options);
    EXPECT_TRUE(lowered) << identity << ": " << lowered.error().message;
    if (!lowered) continue;
    fitted->sites.push_back({place.part, site, *std::move(lowered), fitted->groups.size(), {}});
    fitted->groups.push_back(place.keys);
  }
  return fitted;
}

inline StackEntry entry_of(std::shared_ptr<const Fitted> fitted, double strength) {
  return {std::move(fitted), strength, strength, std::nullopt};
}

}  // namespace veneer::adapt::test
