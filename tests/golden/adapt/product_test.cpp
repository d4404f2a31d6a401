// The layer outputs that libraries get with adapters, from the product as it really runs: beside the weight and folded
// into its panels, on every device. Tolerance: 1e-5 of the largest value, as the cases state; both sides are float32.
#include <gtest/gtest.h>

#include "adapt/merged.h"
#include "case.h"
#include "device/devices.h"
#include "nn/overlay.h"
#include "nn/product.h"
#include "tests/support/golden.h"

namespace veneer {
namespace {

using test::AdapterCase;
using test::Expectation;

// In a chain each adapter is lowered for the weight that those before it leave.
std::vector<nn::Program> programs_for(const AdapterCase& one, const Expectation& expected) {
  std::vector<nn::Program> programs;
  nn::Layer running = one.layer;
  for (size_t i = 0; i < one.groups.size(); ++i) {
    adapt::LowerOptions options;
    options.strength = one.multipliers.empty() ? expected.multiplier : one.multipliers[i];
    if (expected.convention == "chain" && i > 0) running = adapt::layer_after(running, programs.back());
    auto lowered = adapt::lower(one.groups[i], {&running, 0, running.out()}, options);
    EXPECT_TRUE(lowered) << lowered.error().message;
    if (!lowered) continue;
    programs.push_back(
        {std::move(lowered->terms), lowered->strength_inside ? 1.0f : static_cast<float>(options.strength)});
  }
  return programs;
}

class AdapterProducts : public testing::TestWithParam<const char*> {};

TEST_P(AdapterProducts, GiveWhatLibrariesGive) {
  const auto device = *device::open_device(GetParam(), 2, true);
  int compared = 0, chains = 0;
  for (const AdapterCase& one : test::load_adapter_cases()) {
    for (const Expectation& expected : one.expectations) {
      const bool chain = expected.convention == "chain";
      if ((!expected.is_default && !chain) || expected.y.empty()) continue;
      chains += chain;
      const std::vector<nn::Program> programs = programs_for(one, expected);
      const bool image = one.layer.kind == nn::LayerKind::kConv2d;
      const Tensor x = image ? nchw_to_nhwc(one.x) : one.x, y = image ? nchw_to_nhwc(expected.y) : expected.y;
      for (const bool fold : {false, true}) {
        SCOPED_TRACE(concat(one.id, " at ", expected.multiplier, fold ? " folded" : " beside"));
        device::Arena arena(size_t{64} << 20);
        nn::PanelCache panels(0);
        const nn::OverlaySet overlays{
            nn::make_overlay(one.layer, programs, {.fold_dense = fold, .fold_pairs = fold, .chain = chain})};
        nn::Context context{*device, arena, panels, &overlays};
        const Tensor out = image ? nn::conv2d(context, one.layer, x) : nn::linear(context, one.layer, x);
        EXPECT_TRUE(test::close_to(out, y.reshaped(out.shape), 1e-5));
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 150);
  EXPECT_GE(chains, 3);
}

INSTANTIATE_TEST_SUITE_P(Devices, AdapterProducts, testing::Values("ref", "cpu"));

}  // namespace
}  // namespace veneer
