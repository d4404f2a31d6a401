// A place for a network under test: one device by name, and results copied out of the arena.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "device/devices.h"
#include "nn/context.h"

namespace veneer::test {

class Place {
 public:
  explicit Place(const std::string& device) {
    auto opened = device::open_device(device, 2, true);
    EXPECT_TRUE(opened) << opened.error().message;
    device_ = *std::move(opened);
  }

  // Measures the network as a run does, then computes in an arena of exactly that size.
  std::vector<Tensor> run(const std::function<std::vector<Tensor>(nn::Context&)>& network) {
    const auto dry = device::make_dry_device();
    device::Arena measuring = device::Arena::measuring();
    nn::PanelCache none(0);
    nn::Context rehearsal{*dry, measuring, none};
    network(rehearsal);
    device::Arena arena(measuring.peak());
    nn::PanelCache panels(size_t{1} << 30);  // of this run: the next network's layers may lie at the same addresses
    nn::Context context{*device_, arena, panels};
    std::vector<Tensor> results;
    for (const Tensor& tensor : network(context)) results.push_back(tensor.clone());
    return results;
  }
  Tensor run_one(const std::function<Tensor(nn::Context&)>& network) {
    return run([&](nn::Context& context) { return std::vector<Tensor>{network(context)}; }).front();
  }

 private:
  std::unique_ptr<device::Device> device_;
};

}  // namespace veneer::test
