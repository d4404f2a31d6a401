// GLoRA, IA3, whole and sparse differences, replacements and biases: what the reference cases do not reach.
#include "tests/unit/adapt/family_support.h"

namespace veneer::adapt {
namespace {

using test::adapted;
using test::adapted_bias;
using test::error_of;
using test::expect_near;
using test::expect_says;
using test::group_of;
using test::integer_part;
using test::layer_of;
using test::random_layer;
using test::random_part;
using test::site_of;

TEST(Glora, TheMiddleBelongsToThePairBesideTheLayer) {
  const KeyGroup group = group_of({{"a1", {1, 1, 1, 1}, {0}},
                                   {"a2", {1, 1, 1, 1}, {0}},
                                   {"b1", {1, 1, 1, 1}, {3}},
                                   {"b2", {1, 1, 1, 1}, {1}},
                                   {"bm", {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}});
  const nn::Layer layer = layer_of({1, 1, 3, 3}, std::vector<float>(9, 0));
  expect_near(adapted(layer, group), {3, 6, 9, 12, 15, 18, 21, 24, 27});
}

TEST(Glora, RefusesWhatFitsNeitherLayout) {
  const std::vector<test::PartValues> parts{random_part("a1", {4, 2}, 2), random_part("a2", {2, 4}, 3),
                                            random_part("b1", {6, 2}, 4), random_part("b2", {2, 4}, 5)};
  EXPECT_TRUE(lower(group_of(parts), site_of(random_layer({6, 4})), {}));
  expect_says(error_of(random_layer({6, 5}), group_of(parts)), ErrorCode::kMismatch, {"a1 [4, 2]", "[6, 5]"});
  nn::Layer grouped = random_layer({6, 2, 1, 1});
  grouped.geometry.groups = 2;
  expect_says(error_of(grouped, group_of(parts)), ErrorCode::kUnsupported, {"grouped"});
}

TEST(Ia3, IsOnlyMeantWhereOnInputStandsBeside) {
  const nn::Layer layer = layer_of({2, 2}, {1, 2, 3, 4});
  KeyGroup group = group_of({{"weight", {2}, {1, 9}}});
  EXPECT_EQ(error_of(layer, group).code, ErrorCode::kMismatch);
  group.parts["on_input"] = integer_part("on_input", {}, {0});
  expect_near(adapted(layer, group), {2, 4, 30, 40});
  group.parts["on_input"] = integer_part("on_input", {}, {1});
  expect_near(adapted(layer, group), {2, 20, 6, 40});
  group.parts["weight"] = test::key_part({"weight", {3}, {1, 1, 1}});
  expect_says(error_of(layer, group), ErrorCode::kMismatch, {"weight [3]", "[2, 2]"});
}

TEST(Ia3Peft, ScalesTheBiasWithTheOutput) {
  const nn::Layer layer = layer_of({2, 2}, {1, 2, 3, 4}, {10, 100});
  const KeyGroup output = group_of({{"ia3_l", {2, 1}, {2, 3}}}), input = group_of({{"ia3_l", {1, 2}, {2, 3}}});
  expect_near(adapted(layer, output), {2, 4, 9, 12});
  expect_near(adapted_bias(layer, output), {20, 300});
  expect_near(adapted_bias(layer, output, 0.5), {15, 200});
  expect_near(adapted(layer, input), {2, 6, 6, 12});
  expect_near(adapted_bias(layer, input), {10, 100});
  expect_says(error_of(random_layer({2, 2, 1, 1}), group_of({{"ia3_l", {1, 2, 1, 1}, {2, 3}}})),
              ErrorCode::kUnsupported, {"input or for the output"});
  expect_near(adapted(layer_of({1, 2, 1, 1}, {1, 2}), group_of({{"ia3_l", {1, 2, 1, 1}, {2, 3}}})), {2, 6});
  expect_near(adapted(layer_of({2, 1, 1, 1}, {1, 2}), group_of({{"ia3_l", {1, 2, 1, 1}, {2, 3}}})), {2, 6});
  expect_says(error_of(layer, group_of({{"ia3_l", {3, 1}, {1, 1, 1}}})), ErrorCode::kMismatch, {"ia3_l [3, 1]"});
}

TEST(Full, ADifferenceHasTheShapeOfTheWeight) {
  const nn::Layer layer = layer_of({2, 2}, {1, 2, 3, 4});
  expect_near(adapted(layer, group_of({{"diff", {2, 2, 1, 1}, {10, 20, 30, 40}}})), {11, 22, 33, 44});
  expect_says(error_of(layer, group_of({random_part("diff", {4, 1}, 2)})), ErrorCode::kMismatch, {"[4, 1]", "[2, 2]"});
  expect_says(error_of(layer, group_of({random_part("w_norm", {2}, 2)})), ErrorCode::kMismatch, {"w_norm"});
  EXPECT_EQ(lower(group_of({{"diff", {2, 2}, {0, 0, 0, 0}}}), site_of(layer), {})->notices.size(), 1u);
}

TEST(Full, ANormsWeightIsAVector) {
  const nn::Layer norm = layer_of({2}, {1, 2}, {3, 4});
  for (const char* part : {"diff", "w_norm"}) {
    const std::vector programs{test::program_of(group_of({{part, {2}, {10, 20}}}), site_of(norm))};
    expect_near(nn::adapted_vector(norm, programs, nn::Vector::Of::kWeight), {11, 22});
    expect_near(nn::adapted_vector(norm, programs, nn::Vector::Of::kBias), {3, 4});
  }
  expect_says(error_of(norm, group_of({random_part("w_norm", {3}, 2)})), ErrorCode::kMismatch, {"w_norm [3]", "[2]"});
}

TEST(Replacement, TakesThePlaceOfAWholeLayer) {
  const nn::Layer layer = layer_of({2, 1}, {1, 2});
  const KeyGroup group = group_of({{"set_weight", {2, 1}, {10, 20}}});
  LowerOptions options;
  options.strength = 0.25;
  expect_near(adapted(layer, group, options), {10, 20});
  options.strength = 0;
  expect_near(adapted(layer, group, options), {1, 2});
  expect_says(lower(group_of({{"set_weight", {1, 1}, {10}}}), {&layer, 1, 1}, {}).error(), ErrorCode::kUnsupported,
              {"rows 1 to 2"});
  expect_says(error_of(layer, group_of({random_part("set_weight", {1, 2}, 2)})), ErrorCode::kMismatch,
              {"[1, 2]", "[2, 1]"});
}

// A difference is stored at its size: an alpha beside it is read by nobody and hinders nobody.
TEST(Full, IgnoresAlpha) {
  const nn::Layer layer = layer_of({1, 1}, {1}, {1});
  const KeyGroup group = group_of({{"diff", {1, 1}, {10}}, {"diff_b", {1}, {10}}, {"alpha", {}, {64}}});
  expect_near(adapted(layer, group), {11});
  expect_near(adapted_bias(layer, group), {11});
  EXPECT_EQ(lower(group, site_of(layer), {})->used.size(), 3u);
}

// Case F7: only a bias difference for a layer of 3 inputs and 5 outputs.
TEST(Bias, ADifferenceAloneNeedsABias) {
  const nn::Layer layer = layer_of({5, 3}, test::random_values(15, 1), {1, 2, 3, 4, 5});
  const KeyGroup group = group_of({{"diff_b", {5}, {10, 20, 30, 40, 50}}});
  EXPECT_EQ(family_name(group), "bias");
  expect_near(adapted_bias(layer, group, 0.5), {6, 12, 18, 24, 30});
  const auto weight = layer.weight.decode_all();
  EXPECT_EQ(adapted(layer, group), std::vector<double>(weight.begin(), weight.end()));
  expect_says(error_of(random_layer({5, 3}), group), ErrorCode::kMismatch, {"diff_b [5]", "[5, 3]"});
  expect_says(error_of(layer, group_of({{"diff_b", {3}, {1, 2, 3}}})), ErrorCode::kMismatch, {"diff_b [3]", "[5, 3]"});
  EXPECT_TRUE(lower(group_of({{"diff_b", {5}, {0, 0, 0, 0, 0}}}), site_of(layer), {}));
}

TEST(Bias, TogetherWithAWeightALayerIsGivenOne) {
  const nn::Layer layer = layer_of({2, 1}, {1, 2});
  expect_near(adapted_bias(layer, group_of({{"diff", {2, 1}, {1, 1}}, {"diff_b", {2}, {10, 20}}})), {10, 20});
  nn::Layer norm = layer_of({2}, {1, 2});
  expect_says(error_of(norm, group_of({{"w_norm", {2}, {1, 1}}, {"b_norm", {2}, {1, 1}}})), ErrorCode::kMismatch,
              {"b_norm [2]"});
}

TEST(Bias, OfAnUpFactorTakesItsScale) {
  const nn::Layer layer = layer_of({1, 1}, {1}, {1});
  const KeyGroup group =
      group_of({{"up", {1, 2}, {1, 1}}, {"down", {2, 1}, {1, 1}}, {"alpha", {}, {6}}, {"up_bias", {1}, {10}}});
  expect_near(adapted_bias(layer, group), {31});
  expect_near(adapted_bias(layer, group, 0.5), {16});
}

// Where the strength is inside the terms, the bias must take it there as well.
TEST(Bias, TakesTheStrengthOnceInEveryConvention) {
  const nn::Layer layer = layer_of({2, 1}, {3, 4}, {1, 1});
  const KeyGroup group = group_of(
      {{"up", {2, 1}, {1, 0}}, {"down", {1, 1}, {1}}, {"magnitude", {2, 1}, {5, 5}}, {"diff_b", {2}, {10, 20}}});
  for (const DoraConvention dora : {DoraConvention::kInterp, DoraConvention::kPeft, DoraConvention::kLycoris}) {
    LowerOptions options;
    options.strength = 0.5;
    options.dora = dora;
    const std::vector programs{test::program_of(group, site_of(layer), options)};
    expect_near(nn::adapted_vector(layer, programs, nn::Vector::Of::kBias), {6, 11});
  }
}

KeyGroup sparse_group(const std::vector<int64_t>& indices) {
  KeyGroup group = group_of(
      {{"up", {2, 1}, {0, 0}}, {"down", {1, 2}, {0, 0}}, {"alpha", {}, {3}}, {"bias_values", {3}, {1, 10, 100}}});
  group.parts["bias_indices"] = integer_part("bias_indices", {2, 3}, indices);
  group.parts["bias_size"] = integer_part("bias_size", {2}, {2, 2});
  return group;
}

// Rows of `indices`: where in the first dimension, where in the second. Values at one place add up; the scale is that
// of the family beside.
TEST(Sparse, AddsScaledValuesAtTheirPlaces) {
  const nn::Layer layer = layer_of({2, 2}, {0, 0, 0, 0});
  expect_near(adapted(layer, sparse_group({1, 0, 1, 0, 1, 0})), {0, 30, 303, 0});
}

TEST(Sparse, RefusesPlacesOutsideAndSizesOfAnotherLayer) {
  const nn::Layer layer = layer_of({2, 2}, {0, 0, 0, 0});
  for (const int64_t outside : {int64_t{2}, int64_t{-1}, int64_t{1} << 62})
    expect_says(error_of(layer, sparse_group({1, 0, outside, 0, 1, 0})), ErrorCode::kBadFile,
                {"bias_indices", "outside"});
  KeyGroup group = sparse_group({1, 0, 1, 0, 1, 0});
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{4, 4}, {4, 1}, {int64_t{1} << 62, int64_t{1} << 62}}) {
    group.parts["bias_size"] = integer_part("bias_size", {2}, size);
    expect_says(error_of(layer, group), ErrorCode::kMismatch, {"bias_size", "[2, 2]"});
  }
  group.parts["bias_size"] = integer_part("bias_size", {3}, {2, 2, 1});
  EXPECT_EQ(error_of(layer, group).code, ErrorCode::kMismatch);
  for (const char* part : {"up", "down", "alpha"}) group.parts.erase(part);
  expect_says(error_of(layer, group), ErrorCode::kUnsupported, {"bias_indices"});
}

}  // namespace
}  // namespace veneer::adapt
