// Adapters one behind the other (--combine chain), against the libraries' weights and outputs for the same order.
// Tolerance: 1e-5 of the largest value, as for single adapters; both sides are float32.
#include <gtest/gtest.h>

#include "device/devices.h"
#include "nn/product.h"
#include "tests/golden/adapt/case.h"
#include "tests/support/golden.h"
#include "tests/unit/adapt/fitted_support.h"

namespace veneer::adapt {
namespace {

constexpr double kTolerance = 1e-5;

struct Chain {
  nn::LayerList layers;
  std::vector<StackEntry> entries;

  explicit Chain(const veneer::test::AdapterCase& one) {
    const nn::Layer* layer = layers.add(one.layer);
    // Identities in the opposite order: a chain must not be sorted by them.
    for (size_t i = 0; i < one.groups.size(); ++i)
      entries.push_back(
          test::entry_of(test::fitted_to(std::to_string(9 - i), {{layer, one.groups[i]}}), one.multipliers[i]));
  }
};

class Chains : public testing::TestWithParam<ApplyMode> {};

TEST_P(Chains, ActOnTheResultOfThoseBefore) {
  const auto device = *device::open_device("cpu", 2, true);
  size_t compared = 0;
  for (const veneer::test::AdapterCase& one : veneer::test::load_adapter_cases()) {
    for (const veneer::test::Expectation& expected : one.expectations) {
      if (expected.convention != "chain") continue;
      SCOPED_TRACE(one.id);
      const Chain chain(one);
      StackOptions options;
      options.combine = Combine::kChain;
      options.mode = GetParam();
      const StackPart part{io::Part::kDenoiser, &chain.layers, device.get()};
      const auto stack = build_stack(chain.entries, {&part, 1}, options);
      ASSERT_TRUE(stack) << stack.error().message;
      EXPECT_EQ((*stack)->receipt.combine, "chain");

      device::Arena arena(size_t{1} << 20);
      nn::PanelCache panels(0);
      nn::Context context{*device, arena, panels, (*stack)->overlays_of(io::Part::kDenoiser)};
      const Tensor y = nn::linear(context, chain.layers.all()[0], one.x);
      EXPECT_TRUE(veneer::test::close_to(y, expected.y, kTolerance));
      const nn::Overlay& overlay = *(*stack)->overlays_of(io::Part::kDenoiser)->front();
      if (overlay.weight) {
        EXPECT_TRUE(veneer::test::close_to(Tensor::from(overlay.weight->decode_all(), expected.weight.shape),
                                           expected.weight, kTolerance));
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 6u);
}

INSTANTIATE_TEST_SUITE_P(Modes, Chains, testing::Values(ApplyMode::kAtRuntime, ApplyMode::kImmediately),
                         [](const auto& mode) { return std::string(name_of(mode.param)); });

}  // namespace
}  // namespace veneer::adapt
