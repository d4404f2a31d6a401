// DoRA: which axis a magnitude is for, what it does at each strength, and what can carry it.
#include "tests/unit/adapt/family_support.h"

namespace veneer::adapt {
namespace {

using test::adapted;
using test::error_of;
using test::expect_near;
using test::expect_says;
using test::group_of;
using test::layer_of;
using test::random_layer;
using test::random_part;

// Case F4: W = [[3, 4], [0, 5]] and a delta of 1 in the corner.
const nn::Layer kLayer = layer_of({2, 2}, {3, 4, 0, 5});
KeyGroup with_magnitude(const Shape& shape, const std::vector<float>& values) {
  return group_of({{"up", {2, 1}, {1, 0}}, {"down", {1, 2}, {1, 0}}, {"magnitude", shape, values}});
}
constexpr double kRoot50 = 7.0710678118654755;

TEST(Dora, BringsRowsToTheStoredLength) {
  const std::vector<double> expected{kRoot50, kRoot50, 0, 10};
  expect_near(adapted(kLayer, with_magnitude({2, 1}, {10, 10})), expected);
  expect_near(adapted(kLayer, with_magnitude({2}, {10, 10})), expected);
}

TEST(Dora, BringsColumnsToTheStoredLength) {
  expect_near(adapted(kLayer, with_magnitude({1, 2}, {8, 6.4031242f})), {8, 4, 0, 5});
}

// PEFT stores the lengths of a convolution's rows as [1, out, 1, 1]; the key's name tells them from those of columns.
TEST(Dora, TheKeysNameTellsWhereLayoutsCollide) {
  const nn::Layer layer = layer_of({2, 2, 1, 1}, {3, 4, 0, 5});
  KeyGroup group = with_magnitude({1, 2, 1, 1}, {8, 6.4031242f});
  expect_near(adapted(layer, group), {8, 4, 0, 5});
  group.parts["magnitude"] = test::key_part({"magnitude", {1, 2, 1, 1}, {10, 10}});
  group.parts["magnitude"].key = "module.lora_magnitude_vector";
  expect_near(adapted(layer, group), {kRoot50, kRoot50, 0, 10});
}

TEST(Dora, StrengthBlendsTheWeightWithItsOwnResult) {
  const KeyGroup group = with_magnitude({2, 1}, {10, 10});
  LowerOptions options;
  options.strength = 0.5;
  expect_near(adapted(kLayer, group, options), {(3 + kRoot50) / 2, (4 + kRoot50) / 2, 0, 7.5});
  options.strength = 0;
  EXPECT_EQ(adapted(kLayer, group, options), (std::vector<double>{3, 4, 0, 5}));
}

TEST(Dora, OtherConventionsHaveTheirStrengthInside) {
  const KeyGroup group = with_magnitude({2, 1}, {10, 10});
  LowerOptions options;
  options.strength = 0.5;
  options.dora = DoraConvention::kLycoris;  // V (1 + s (g - 1)), V at full strength
  const double g = 1 + 0.5 * (10 / (4 * std::sqrt(2.0)) - 1);
  expect_near(adapted(kLayer, group, options), {4 * g, 4 * g, 0, 7.5});
  options.dora = DoraConvention::kPeft;  // V_s = W + s delta, brought to the stored length
  const double norm = std::sqrt(3.5 * 3.5 + 16);
  expect_near(adapted(kLayer, group, options), {35 / norm, 40 / norm, 0, 10});
  EXPECT_TRUE(lower(group, test::site_of(kLayer), options)->strength_inside);
}

// In a convolution the length runs over channels and kernel.
TEST(Dora, TheKernelBelongsToTheRow) {
  const nn::Layer layer = layer_of({1, 1, 2, 2}, {1, 1, 1, 1});
  const KeyGroup group =
      group_of({{"up", {1, 1}, {0}}, {"down", {1, 4}, {0, 0, 0, 0}}, {"magnitude", {1, 1, 1, 1}, {6}}});
  expect_near(adapted(layer, group), {3, 3, 3, 3});
}

TEST(Dora, ARowOfZerosStaysZero) {
  const nn::Layer layer = layer_of({2, 2}, {0, 0, 0, 5});
  expect_near(adapted(layer, group_of({{"diff", {2, 2}, {0, 0, 0, 0}}, {"magnitude", {2, 1}, {0, 10}}})),
              {0, 0, 0, 10});
}

TEST(Dora, ASliceIsMeasuredByItsOwnRows) {
  const nn::Layer layer = layer_of({4, 2}, {9, 9, 3, 4, 0, 5, 9, 9});
  const std::vector rows{test::program_of(with_magnitude({2, 1}, {10, 10}), {&layer, 1, 2})};
  expect_near(nn::adapted_rows(layer, rows, 0, 4), {9, 9, kRoot50, kRoot50, 0, 10, 9, 9});
  const std::vector columns{test::program_of(with_magnitude({1, 2}, {8, 6.4031242f}), {&layer, 1, 2})};
  expect_near(nn::adapted_rows(layer, columns, 0, 4), {9, 9, 8, 4, 0, 5, 9, 9});
}

// Columns of a grouped convolution stand for one channel of every group.
TEST(Dora, ColumnsOfGroups) {
  nn::Layer layer = layer_of({2, 1, 1, 1}, {3, 4});
  layer.geometry.groups = 2;
  const KeyGroup group = group_of({{"diff", {2, 1, 1, 1}, {0, 0}}, {"magnitude", {1, 1, 1, 1}, {10}}});
  expect_near(adapted(layer, group), {6, 8});
  EXPECT_EQ(test::program_of(group, test::site_of(layer)).terms.size(), 2u);
}

TEST(Dora, RefusesWhatItCannotDecideOrCarry) {
  expect_says(error_of(random_layer({2, 3}), group_of({random_part("up", {2, 1}, 2), random_part("down", {1, 3}, 3),
                                                       random_part("magnitude", {3}, 4)})),
              ErrorCode::kMismatch, {"magnitude [3]", "[2, 1]", "[1, 3]"});
  expect_says(error_of(kLayer, group_of({{"magnitude", {2, 1}, {1, 1}}})), ErrorCode::kUnsupported,
              {"LoRA, LoHa, LoKr"});
  expect_says(error_of(kLayer, group_of({{"oft_blocks", {1, 2, 2}, {0, 1, 0, 0}}, {"magnitude", {2, 1}, {1, 1}}})),
              ErrorCode::kUnsupported, {"LoRA, LoHa, LoKr"});
  nn::Layer embedding = kLayer;
  embedding.kind = nn::LayerKind::kEmbedding;
  expect_says(error_of(embedding, with_magnitude({2, 1}, {1, 1})), ErrorCode::kUnsupported, {"embedding"});
}

}  // namespace
}  // namespace veneer::adapt
