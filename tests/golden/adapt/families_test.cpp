// Every family against the libraries that made its adapters: the adapted weight, from the terms' definitions in double.
//
// Tolerances, of the largest weight: 2e-6, because the references are rounded to float32 and so are the tensors that
// terms hold (factors folded at lowering, gains); 5e-6 for OFT and BOFT, whose blocks LyCORIS inverts in float32.
#include <gtest/gtest.h>

#include "adapt/families/parts.h"
#include "nn/adapted_rows.h"
#include "tests/golden/adapt/case.h"
#include "tests/support/golden.h"

namespace veneer::adapt {
namespace {

using test::AdapterCase;
using test::Expectation;

double tolerance_of(const AdapterCase& c) { return contains(c.id, "oft") ? 5e-6 : 2e-6; }

LowerOptions options_of(double strength, DoraConvention dora) {
  LowerOptions options;
  options.strength = strength;
  options.dora = dora;
  return options;
}

nn::Program program_of(const AdapterCase& c, const KeyGroup& group, const LowerOptions& options) {
  const auto lowered = lower(group, c.site(), options);
  EXPECT_TRUE(lowered) << c.id << ": " << lowered.error().message;
  if (!lowered) return {};
  for (const auto& [part, unused] : group.parts)
    EXPECT_NE(std::find(lowered->used.begin(), lowered->used.end(), part), lowered->used.end()) << c.id << ": " << part;
  return {lowered->terms, lowered->strength_inside ? 1.0f : static_cast<float>(options.strength), 0, 0};
}

void expect_adapted(const AdapterCase& c, const std::vector<nn::Program>& programs, const Expectation& expected) {
  SCOPED_TRACE(concat(c.id, " ", expected.convention, "@", expected.multiplier));
  const double tolerance = tolerance_of(c);
  const auto weight = c.layer.kind == nn::LayerKind::kNorm
                          ? nn::adapted_vector(c.layer, programs, nn::Vector::Of::kWeight)
                          : nn::adapted_rows(c.layer, programs, 0, c.layer.out());
  EXPECT_TRUE(test::close_to(to_tensor(weight, expected.weight.shape), expected.weight, tolerance));
  if (expected.bias.empty()) return;
  const auto bias = nn::adapted_vector(c.layer, programs, nn::Vector::Of::kBias);
  EXPECT_TRUE(test::close_to(to_tensor(bias, expected.bias.shape), expected.bias, tolerance));
}

DoraConvention convention_of(const Expectation& expected) {
  if (expected.convention == "peft") return DoraConvention::kPeft;
  return expected.convention == "lycoris" ? DoraConvention::kLycoris : DoraConvention::kInterp;
}

class Families : public testing::Test {
 protected:
  const std::vector<AdapterCase> cases_ = test::load_adapter_cases();
};

TEST_F(Families, GiveTheWeightsThatTheLibrariesGive) {
  ASSERT_EQ(cases_.size(), 97u);
  size_t compared = 0;
  for (const AdapterCase& c : cases_) {
    // Its file has two halves in the other order than the layer: a matter of names, which swap them.
    if (!c.multipliers.empty() || c.id == "slices/flux_final_modulation") continue;
    for (const Expectation& expected : c.expectations) {
      const auto with = [&](DoraConvention dora) {
        return std::vector{program_of(c, c.groups[0], options_of(expected.multiplier, dora))};
      };
      if (expected.is_default) expect_adapted(c, with(DoraConvention::kInterp), expected);
      expect_adapted(c, with(convention_of(expected)), expected);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 166u);
}

TEST_F(Families, AddUpAgainstTheBase) {
  size_t compared = 0;
  for (const AdapterCase& c : cases_) {
    if (c.multipliers.empty()) continue;
    std::vector<nn::Program> programs;
    for (size_t i = 0; i < c.groups.size(); ++i)
      programs.push_back(program_of(c, c.groups[i], options_of(c.multipliers[i], DoraConvention::kInterp)));
    for (const Expectation& expected : c.expectations)
      if (expected.convention == "sum") {
        expect_adapted(c, programs, expected);
        ++compared;
      }
  }
  EXPECT_EQ(compared, 6u);
}

// With LoHa held as rows on demand instead of one pair, nothing changes.
TEST_F(Families, LohaIsTheSameDense) {
  for (const AdapterCase& c : cases_) {
    if (c.family != "loha" && c.family != "loha_cp") continue;
    LowerOptions options;
    options.pair_limit = 0;
    const auto programs = std::vector{program_of(c, c.groups[0], options)};
    EXPECT_TRUE(std::holds_alternative<nn::Dense>(programs[0].terms[0]));
    expect_adapted(c, programs, c.expectations[0]);
  }
}

// A part of the rows is the same part of all rows, also where rows are rotated into one another.
TEST_F(Families, RowsMayBeTakenInParts) {
  for (const AdapterCase& c : cases_) {
    if (!c.multipliers.empty() || c.layer.kind == nn::LayerKind::kNorm) continue;
    const auto programs = std::vector{program_of(c, c.groups[0], {})};
    const auto whole = nn::adapted_rows(c.layer, programs, 0, c.layer.out());
    const int64_t first = 3, count = 4, width = c.layer.weight.row_values();
    const auto part = nn::adapted_rows(c.layer, programs, first, count);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * width)) << c.id;
  }
}

}  // namespace
}  // namespace veneer::adapt
