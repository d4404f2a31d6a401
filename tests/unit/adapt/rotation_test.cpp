// Rotations: what the reference cases do not reach, and what does not fit.
#include "adapt/families/rotation.h"

#include <numeric>

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

// B - B^T = [[0, t], [-t, 0]] gives the rotation by 2 atan t: [[c, s], [-s, c]].
constexpr double kC = 0.6, kS = 0.8;  // t = 1 / 2
const test::PartValues kBlock{"oft_blocks", {1, 2, 2}, {0, 0.5f, 0, 0}};

TEST(Rotation, CayleyOfASkewMatrixTurns) {
  const Blocks r = cayley({1, 2, {0, 0.5, -0.5, 0}});
  expect_near(r.values, {kC, kS, -kS, kC}, 1e-15);
  // However large the entries, the rows keep length 1.
  const Blocks big = cayley({1, 3, {0, 1e9, 1, -1e9, 0, 2, -1, -2, 0}});
  for (size_t i = 0; i < 3; ++i) {
    double squares = 0;
    for (size_t j = 0; j < 3; ++j) squares += big.values[i * 3 + j] * big.values[i * 3 + j];
    EXPECT_NEAR(squares, 1, 1e-6);
  }
}

// R (I - Q) = I + Q, in several blocks of pivots and a part of one; error of sums of 150 products.
TEST(Rotation, CayleyOfALargeMatrixSolvesItsEquation) {
  constexpr int64_t kSize = 150;
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 0.3);
  Blocks skew{1, kSize, std::vector<double>(kSize * kSize)};
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j < i; ++j) skew.block(0)[j * kSize + i] = -(skew.block(0)[i * kSize + j] = normal(random));
  const Blocks r = cayley(skew);
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j < kSize; ++j) {
      double left = r.block(0)[i * kSize + j];
      for (int64_t k = 0; k < kSize; ++k) left -= r.block(0)[i * kSize + k] * skew.block(0)[k * kSize + j];
      ASSERT_NEAR(left, (i == j ? 1 : 0) + skew.block(0)[i * kSize + j], 1e-12) << i << " " << j;
    }
}

// I + 2 S + 2 S^2 + S^3 of S = t J, J^2 = -I.
TEST(Rotation, TheSeriesStopsWhereItIsTold) {
  const Blocks skew{1, 2, {0, 0.5, -0.5, 0}};
  expect_near(cayley_neumann(skew, 4).values, {1 - 0.5, 1 - 0.125, -1 + 0.125, 1 - 0.5}, 1e-15);
  expect_near(cayley_neumann(skew, 3).values, {1 - 0.25, 1, -1, 1 - 0.25}, 1e-15);
}

TEST(Oft, TurnsRowsByTheTranspose) {
  const nn::Layer layer = layer_of({2, 1}, {1, 10});
  const KeyGroup group = group_of({kBlock});
  EXPECT_FALSE(lower(group, test::site_of(layer), {})->strength_inside);
  expect_near(adapted(layer, group), {kC - 10 * kS, kS + 10 * kC});
}

TEST(Oft, StoredRotationsAreTakenAsTheyAre) {
  const nn::Layer layer = layer_of({2, 1}, {1, 10});
  expect_near(adapted(layer, group_of({{"oft_diag", {1, 2, 2}, {0, 1, -1, 0}}})), {-10, 1});
  expect_says(error_of(layer, group_of({{"oft_diag", {1, 1, 1}, {1}}})), ErrorCode::kMismatch, {"oft_diag [1, 1, 1]"});
}

// The rescaling counts from 1, so that strength 0 is the identity.
TEST(Oft, RescalingMakesTheStrengthNonlinear) {
  const nn::Layer layer = layer_of({2, 1}, {1, 10});
  LowerOptions options;
  options.strength = 0.5;
  const KeyGroup group = group_of({kBlock, {"rescale", {2, 1}, {3, 1}}});
  const double c = 0.5 + 0.5 * kC, s = 0.5 * kS;
  expect_near(adapted(layer, group, options), {2 * (c - 10 * s), s + 10 * c});
  EXPECT_TRUE(lower(group, test::site_of(layer), options)->strength_inside);
  expect_says(error_of(layer, group_of({kBlock, {"rescale", {3}, {1, 1, 1}}})), ErrorCode::kMismatch, {"rescale [3]"});
}

TEST(Oft, BlocksMustCoverTheOutputs) {
  const nn::Layer layer = random_layer({4, 2});
  expect_says(error_of(layer, group_of({kBlock})), ErrorCode::kMismatch, {"oft_blocks [1, 2, 2]", "[4, 2]"});
  expect_says(error_of(layer, group_of({random_part("oft_blocks", {4, 1}, 2)})), ErrorCode::kMismatch, {"[4, 1]"});
  nn::Layer embedding = random_layer({2, 2});
  embedding.kind = nn::LayerKind::kEmbedding;
  expect_says(error_of(embedding, group_of({kBlock})), ErrorCode::kUnsupported, {"embedding"});
}

// Outputs 0 1 | 2 3 are halves of one run in the second stage, which pairs 0 with 2 and 1 with 3.
TEST(Boft, ASecondStagePairsDistantRows) {
  const nn::Layer layer = layer_of({4, 1}, {1, 2, 3, 4});
  const KeyGroup group = group_of({{"oft_blocks", {2, 2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5f, 0, 0, 0, 0, 0, 0}}});
  expect_near(adapted(layer, group), {kC * 1 + kS * 3, 2, -kS * 1 + kC * 3, 4});
  EXPECT_TRUE(lower(group, test::site_of(layer), {})->strength_inside);
  expect_says(error_of(layer, group_of({random_part("oft_blocks", {3, 2, 2, 2}, 2)})), ErrorCode::kMismatch,
              {"stage 2", "4 outputs"});
  expect_says(error_of(random_layer({3, 1}), group_of({random_part("oft_blocks", {1, 1, 3, 3}, 2)})),
              ErrorCode::kMismatch, {"stage 0"});
}

TEST(OftPeft, TurnsInputsAndCanShareABlock) {
  const nn::Layer layer = layer_of({1, 4}, {1, 10, 100, 1000});
  KeyGroup group = group_of({{"oft_R", {1, 1}, {0.5f}}});
  group.settings.cayley_neumann = false;
  // R = (I - S) (I + S)^-1 turns by -2 atan t; W' = W R^T.
  expect_near(adapted(layer, group), {kC - 10 * kS, kS + 10 * kC, 100 * kC - 1000 * kS, 100 * kS + 1000 * kC}, 1e-3);
  group.settings.cayley_neumann = true;
  group.settings.cayley_neumann_terms = 1 << 30;
  expect_says(error_of(layer, group), ErrorCode::kUnsupported, {"num_cayley_neumann_terms"});
  expect_says(error_of(layer, group_of({{"oft_R", {1, 2}, {1, 1}}})), ErrorCode::kMismatch,
              {"oft_R [1, 2]", "4 inputs"});
  expect_says(error_of(layer, group_of({{"oft_R", {3, 1}, {1, 1, 1}}})), ErrorCode::kMismatch, {"oft_R [3, 1]"});
}

TEST(OftPeft, TurnsAKernelByRows) {
  const auto term_of = [](const nn::Layer& layer) {
    return test::program_of(group_of({{"oft_R", {1, 1}, {0.5f}}}), test::site_of(layer)).terms.at(0);
  };
  EXPECT_TRUE(std::holds_alternative<nn::Rotate>(term_of(random_layer({2, 4, 1, 1}))));
  const nn::Term kernel = term_of(random_layer({2, 4, 3, 3}));
  ASSERT_TRUE(std::holds_alternative<nn::Dense>(kernel));
  EXPECT_TRUE(std::get<nn::Dense>(kernel).needs_base);
}

using Square = std::vector<double>;  // [n, n]

Square times(const Square& a, const Square& b, size_t n) {
  Square c(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < n; ++k)
      for (size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
  return c;
}

Square flipped(const Square& a, size_t n) {
  Square t(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) t[j * n + i] = a[i * n + j];
  return t;
}

// W Q^T with Q = B_1 B_0, B_i = P_i blockdiag(R_i) P_i^T, from the matrices themselves: 8 inputs, blocks of 4.
TEST(BoftPeft, TwoStagesAreTheProductOfTheirMatrices) {
  constexpr size_t kN = 8;
  const nn::Layer layer = random_layer({3, kN});
  const auto stored = random_part("boft_R", {2, 2, 4, 4}, 5);
  const auto scale = random_part("boft_s", {3, 1}, 6);
  Square q(kN * kN);
  for (size_t i = 0; i < kN; ++i) q[i * kN + i] = 1;
  // p of stage 0: runs of 4 in groups of 2, even ones first. Of stage 1: one run of 8.
  const std::vector<std::vector<size_t>> order{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7}};
  for (size_t stage = 0; stage < 2; ++stage) {
    Square permutation(kN * kN), rotation(kN * kN);
    for (size_t k = 0; k < kN; ++k) permutation[k * kN + order[stage][k]] = 1;
    for (size_t b = 0; b < 2; ++b) {
      const float* block = stored.values.data() + (stage * 2 + b) * 16;
      Blocks negative{1, 4, Square(16)};
      for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j)
          negative.values[i * 4 + j] = -(static_cast<double>(block[i * 4 + j]) - block[j * 4 + i]) / 2;
      const Blocks r = cayley(negative);
      for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j) rotation[(b * 4 + i) * kN + b * 4 + j] = r.values[i * 4 + j];
    }
    q = times(times(times(permutation, rotation, kN), flipped(permutation, kN), kN), q, kN);
  }
  const std::vector<float> w = layer.weight.decode_all();
  std::vector<double> expected(3 * kN);
  for (size_t o = 0; o < 3; ++o)
    for (size_t i = 0; i < kN; ++i)
      for (size_t j = 0; j < kN; ++j) expected[o * kN + i] += scale.values[o] * w[o * kN + j] * q[i * kN + j];
  expect_near(adapted(layer, group_of({stored, scale})), expected);
  expect_says(error_of(random_layer({3, 12}), group_of({random_part("boft_R", {3, 3, 4, 4}, 2)})), ErrorCode::kMismatch,
              {"stage 2", "12 inputs"});
  expect_says(error_of(random_layer({3, 8, 3, 3}), group_of({stored})), ErrorCode::kUnsupported, {"kernel"});
}

}  // namespace
}  // namespace veneer::adapt
