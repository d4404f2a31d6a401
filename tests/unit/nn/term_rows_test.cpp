// Rows of terms and of whole programs, against sums written out. The families' tests compare the same code with
// libraries (tests/golden/adapt).
#include "nn/term_rows.h"

#include <gtest/gtest.h>

#include "nn/adapted_rows.h"

namespace veneer::nn {
namespace {

Tensor tensor(const Shape& shape, const std::vector<float>& values) { return Tensor::from(values, shape); }

Layer layer_of(const Shape& shape, const std::vector<float>& values) {
  Layer layer;
  layer.kind = shape.rank() == 4 ? LayerKind::kConv2d : LayerKind::kLinear;
  layer.weight = codec::weight_from(values, shape, *codec::find_codec("f32"), "w");
  return layer;
}

// Twice what it is given.
Dense doubled() {
  Dense dense;
  dense.needs_base = true;
  dense.rows = [](int64_t, int64_t count, float* rows) {
    for (int64_t i = 0; i < 2 * count; ++i) rows[i] *= 2;
  };
  return dense;
}

TEST(TermRows, AreAddedWithTheirScaleInBothTypes) {
  const std::vector<float> base{1, 2};
  const std::vector<std::pair<Term, std::vector<float>>> cases{
      {Pair{tensor({1, 2}, {1, 10}), tensor({2, 1}, {3, 4}), 2, Side::kOutput}, {100 + 24, 200 + 240}},
      {Kron{tensor({2, 1}, {3, 4}), tensor({1, 2}, {1, 10}), {}, 2}, {100 + 24, 200 + 240}},
      {Kron{tensor({1, 1}, {1}), tensor({1, 2}, {1, 10}), tensor({2, 1}, {3, 4}), 2}, {100 + 24, 200 + 240}},
      {doubled(), {100 + 6, 200 + 12}}};
  for (const auto& [term, expected] : cases) {
    ASSERT_TRUE(is_additive(term));
    std::vector<float> rows{100, 200};
    add_term_rows(term, 2, 1, 1, 3.0f, base.data(), rows.data());
    std::vector<double> exact{100, 200};
    add_term_rows(term, 2, 1, 1, 3.0, base.data(), exact.data());
    EXPECT_EQ(rows, expected);
    EXPECT_EQ(exact, std::vector<double>(expected.begin(), expected.end()));
  }
}

TEST(TermRows, TurningTermsAreNotAdditive) {
  EXPECT_FALSE(is_additive(Pair{{}, {}, 1, Side::kInput}));
  EXPECT_FALSE(is_additive(Gain{}));
  EXPECT_FALSE(is_additive(Rotate{}));
  EXPECT_FALSE(is_additive(Vector{}));
}

// An additive term sees the input as the terms before it left it, the base product as all of them leave it.
TEST(AdaptedRows, TheOrderOfTermsIsTheOrderInWhichTheInputTurns) {
  const Layer layer = layer_of({1, 2}, {1, 1});
  const Term gain = Gain{tensor({2}, {2, 3}), Side::kInput};
  const Term pair = Pair{tensor({1, 2}, {10, 10}), tensor({1, 1}, {1}), 1, Side::kOutput};
  const auto rows = [&](std::vector<Term> terms) {
    const std::vector programs{Program{std::move(terms), 1, 0, 0}};
    return adapted_rows(layer, programs, 0, 1);
  };
  EXPECT_EQ(rows({gain, pair}), (std::vector<double>{2 + 20, 3 + 30}));
  EXPECT_EQ(rows({pair, gain}), (std::vector<double>{2 + 10, 3 + 10}));
  EXPECT_EQ(rows({pair, Gain{tensor({1}, {7}), Side::kOutput}}), (std::vector<double>{77, 77}));
}

// x' = T_2 T_1 x: the first term stands furthest from the weight. W T_2 T_1 with T_1 a gain and T_2 a quarter turn.
TEST(AdaptedRows, LaterInputTermsStandNextToTheWeight) {
  const Layer layer = layer_of({1, 2}, {1, 10});
  const std::vector programs{Program{
      {Gain{tensor({2}, {2, 3}), Side::kInput}, Rotate{tensor({1, 2, 2}, {0, 1, -1, 0}), {}, Side::kInput}}, 1, 0, 0}};
  EXPECT_EQ(adapted_rows(layer, programs, 0, 1), (std::vector<double>{-20, 3}));
}

TEST(AdaptedRows, ProgramsAddUpAgainstTheBaseOrAReplacement) {
  const Layer layer = layer_of({2, 1}, {1, 2});
  const Program tripled{{Gain{tensor({2}, {3, 3}), Side::kOutput}}, 0.5f, 0, 0};
  const Program added{{Pair{tensor({1, 1}, {1}), tensor({1, 1}, {10}), 1, Side::kOutput}}, 0.25f, 1, 1};
  Program replaced{
      {Replace{codec::weight_from(std::vector<float>{5, 6}, {2, 1}, *codec::find_codec("f32"))}}, 0.1f, 0, 0};
  EXPECT_EQ(adapted_rows(layer, std::vector{tripled, added}, 0, 2), (std::vector<double>{2, 6.5}));
  EXPECT_EQ(adapted_rows(layer, std::vector{tripled, replaced}, 0, 2), (std::vector<double>{10, 12}));
  replaced.amount = 0;
  EXPECT_EQ(adapted_rows(layer, std::vector{tripled, replaced}, 0, 2), (std::vector<double>{2, 4}));
}

// Rows of the second group of a convolution see the second half of the input channels.
TEST(AdaptedRows, InputGainsKnowTheGroupOfARow) {
  Layer layer = layer_of({2, 1, 1, 1}, {1, 1});
  layer.geometry.groups = 2;
  const std::vector programs{Program{{Gain{tensor({2}, {2, 3}), Side::kInput}}, 1, 0, 0}};
  EXPECT_EQ(adapted_rows(layer, programs, 0, 2), (std::vector<double>{2, 3}));
  EXPECT_EQ(adapted_rows(layer, programs, 1, 1), (std::vector<double>{3}));
}

}  // namespace
}  // namespace veneer::nn
