// Low-rank families: forms of their factors, what they come to, and what does not fit. The numbers of plain cases are
// compared with the libraries in tests/golden/adapt.
#include "tests/unit/adapt/family_support.h"

namespace veneer::adapt {
namespace {

using test::adapted;
using test::error_of;
using test::expect_near;
using test::expect_says;
using test::group_of;
using test::layer_of;
using test::program_of;
using test::random_layer;
using test::random_part;
using test::site_of;

// Case F5, by the formula: delta[o, i, y, x] = sum over p, q of up[o, p] middle[p, q, y, x] down[q, i], times alpha
// / 2.
TEST(Lora, ATuckerMiddleIsFoldedIntoTheDownFactor) {
  const nn::Layer layer = layer_of({4, 3, 3, 3}, std::vector<float>(108, 0));
  const auto up = random_part("up", {4, 2, 1, 1}, 2), mid = random_part("mid", {2, 2, 3, 3}, 3),
             down = random_part("down", {2, 3, 1, 1}, 4);
  std::vector<double> expected(108);
  for (size_t o = 0; o < 4; ++o)
    for (size_t i = 0; i < 3; ++i)
      for (size_t k = 0; k < 9; ++k)
        for (size_t p = 0; p < 2; ++p)
          for (size_t q = 0; q < 2; ++q)
            expected[(o * 3 + i) * 9 + k] +=
                1.5 * up.values[o * 2 + p] * mid.values[(p * 2 + q) * 9 + k] * down.values[q * 3 + i];
  expect_near(adapted(layer, group_of({up, mid, down, {"alpha", {}, {3}}})), expected);
  expect_says(error_of(layer, group_of({up, random_part("mid", {2, 3, 3, 3}, 3), down})), ErrorCode::kMismatch,
              {"mid [2, 3, 3, 3]"});
}

// Case F6: a projection may be a matrix or a convolution over one pixel on either side.
TEST(Lora, MatricesAndPointwiseConvolutionsAreTheSame) {
  const nn::Layer matrix = random_layer({64, 64}), pixel = random_layer({64, 64, 1, 1});
  const auto up = random_part("up", {64, 4}, 2), down = random_part("down", {4, 64}, 3);
  auto up4 = up, down4 = down;
  up4.shape = {64, 4, 1, 1};
  down4.shape = {4, 64, 1, 1};
  const auto expected = adapted(matrix, group_of({up, down}));
  EXPECT_EQ(adapted(matrix, group_of({up4, down4})), expected);
  EXPECT_EQ(adapted(pixel, group_of({up, down})), expected);
  EXPECT_EQ(adapted(pixel, group_of({up4, down4})), expected);
  expect_says(error_of(random_layer({64, 64, 3, 3}), group_of({up, down})), ErrorCode::kMismatch,
              {"[64, 64]", "[64, 64, 3, 3]"});
}

TEST(Lora, ShapesThatDoNotFitAreNamedWithTheirProduct) {
  const auto words = [](const Shape& layer, const Shape& up, const Shape& down) {
    return error_of(random_layer(layer), group_of({random_part("up", up, 2), random_part("down", down, 3)})).message;
  };
  EXPECT_EQ(words({320, 320}, {320, 8}, {8, 768}),
            "unet.layer: up [320, 8] x down [8, 768] gives [320, 768], layer is [320, 320]");
  EXPECT_NE(words({6, 4}, {5, 2}, {2, 4}).find("gives [5, 4], layer is [6, 4]"), std::string::npos);
  EXPECT_NE(words({6, 4}, {6, 8}, {4, 4}).find("do not agree on the rank"), std::string::npos);
  // As many values to a row, but another kernel.
  EXPECT_NE(words({6, 9, 2, 2}, {6, 2}, {2, 4, 3, 3}).find("layer is [6, 9, 2, 2]"), std::string::npos);
  EXPECT_NE(words({6}, {6, 2}, {2, 1}).find("a norm of [6]"), std::string::npos);
}

TEST(Lora, HalfAPairIsRefused) {
  const nn::Layer layer = random_layer({6, 4});
  expect_says(error_of(layer, group_of({random_part("up", {6, 2}, 2)})), ErrorCode::kMismatch, {"has up but no down"});
  expect_says(error_of(layer, group_of({random_part("down", {2, 4}, 2)})), ErrorCode::kMismatch, {"but no up"});
  expect_says(error_of(layer, group_of({{"up", {6, 0}, {}}, {"down", {0, 4}, {}}})), ErrorCode::kMismatch, {"rank 0"});
}

TEST(Lora, VectorsAreFactorsOfRankOne) {
  const nn::Layer layer = layer_of({2, 3}, std::vector<float>(6, 0));
  expect_near(adapted(layer, group_of({{"up", {2}, {1, 2}}, {"down", {3}, {1, 10, 100}}})), {1, 10, 100, 2, 20, 200});
}

TEST(Lora, FewerRanksKeepTheScaleOfAll) {
  const nn::Layer layer = layer_of({1, 2}, {0, 0});
  const KeyGroup group = group_of({{"up", {1, 2}, {1, 1}}, {"down", {2, 2}, {1, 2, 100, 200}}, {"alpha", {}, {4}}});
  LowerOptions options;
  options.rank_limit = 1;
  expect_near(adapted(layer, group, options), {2, 4});
  options.rank_limit = 2;
  expect_near(adapted(layer, group, options), {202, 404});
}

TEST(Lora, AnInpaintingInputIsPaddedWithNotice) {
  nn::Layer layer = layer_of({1, 9, 1, 1}, std::vector<float>(9, 0));
  const KeyGroup group = group_of({{"up", {1, 1, 1, 1}, {2}}, {"down", {1, 4, 1, 1}, {1, 2, 3, 4}}});
  EXPECT_EQ(error_of(layer, group).code, ErrorCode::kMismatch);
  layer.name = "unet.conv_in";
  expect_near(adapted(layer, group), {2, 4, 6, 8, 0, 0, 0, 0, 0});
  EXPECT_EQ(lower(group, site_of(layer), {})->notices.size(), 1u);
}

TEST(Lora, NoEffectIsNotASilentOne) {
  const nn::Layer layer = random_layer({2, 2});
  const auto up = random_part("up", {2, 1}, 2), down = random_part("down", {1, 2}, 3);
  const auto notices = [&](const KeyGroup& group) { return lower(group, site_of(layer), {})->notices; };
  EXPECT_TRUE(notices(group_of({up, down, {"alpha", {}, {1}}})).empty());
  const auto zero_alpha = notices(group_of({up, down, {"alpha", {}, {0}}}));
  ASSERT_EQ(zero_alpha.size(), 1u);
  EXPECT_NE(zero_alpha[0].find("alpha is 0"), std::string::npos);
  const auto zero_up = notices(group_of({{"up", {2, 1}, {0, 0}}, down}));
  ASSERT_EQ(zero_up.size(), 1u);
  EXPECT_NE(zero_up[0].find("up is all zeros"), std::string::npos);
}

TEST(Lora, CountsWhatItUsedAndNothingElse) {
  const nn::Layer layer = random_layer({2, 2});
  const auto up = random_part("up", {2, 1}, 2), down = random_part("down", {1, 2}, 3);
  const auto lowered = lower(group_of({up, down, {"alpha", {}, {1}}, {"on_input", {}, {1}}}), site_of(layer), {});
  EXPECT_EQ(lowered->used, (std::vector<std::string>{"up", "down", "alpha"}));
  expect_says(error_of(layer, group_of({up, down, {"reshape_weight", {2}, {4, 4}}})), ErrorCode::kUnsupported,
              {"reshape_weight"});
}

TEST(Lora, IsForASliceOfAFusedLayer) {
  const nn::Layer layer = layer_of({4, 1}, {0, 0, 0, 0});
  const KeyGroup group = group_of({{"up", {2, 1}, {1, 2}}, {"down", {1, 1}, {10}}});
  const std::vector programs{program_of(group, {&layer, 1, 2})};
  expect_near(nn::adapted_rows(layer, programs, 0, 4), {0, 10, 20, 0});
  expect_near(nn::adapted_rows(layer, programs, 2, 2), {20, 0});
  EXPECT_EQ(lower(group, {&layer, 1, 3}, {}).error().code, ErrorCode::kMismatch);
}

TEST(Lora, ChangesAnEmbeddingAsAMatrix) {
  nn::Layer layer = layer_of({2, 1}, {1, 1});
  layer.kind = nn::LayerKind::kEmbedding;
  expect_near(adapted(layer, group_of({{"up", {2, 1}, {1, 2}}, {"down", {1, 1}, {10}}})), {11, 21});
}

TEST(Lora, AHugeScaleIsRefused) {
  KeyGroup group = group_of({{"up", {2, 1}, {1, 2}}, {"down", {1, 1}, {10}}});
  group.settings.alpha = 1e300;
  expect_says(error_of(layer_of({2, 1}, {1, 1}), group), ErrorCode::kBadFile, {"scale", "1e+300"});
}

// delta = up diag(E) down * alpha / (ranknum + 1e-5)
TEST(AdaLora, ScalesRanksByTheirSingularValues) {
  const nn::Layer layer = layer_of({1, 1}, {0});
  const std::vector<test::PartValues> parts{
      {"up", {1, 2}, {1, 1}}, {"down", {2, 1}, {1, 10}}, {"lora_E", {2, 1}, {2, 3}}};
  auto with_alpha = parts;
  with_alpha.insert(with_alpha.end(), {{"ranknum", {}, {4}}, {"alpha", {}, {8}}});
  expect_near(adapted(layer, group_of(with_alpha)), {32 * 8 / 4.00001});
  expect_near(adapted(layer, group_of(parts)), {32});
  with_alpha[3].values = {-1};
  expect_says(error_of(layer, group_of(with_alpha)), ErrorCode::kMismatch, {"ranknum"});
}

TEST(Vera, NeedsTheSharedProjections) {
  const nn::Layer layer = layer_of({2, 1}, {0, 0});
  KeyGroup group = group_of({{"vera_lambda_b", {2}, {1, 2}}, {"vera_lambda_d", {1}, {3}}});
  expect_says(error_of(layer, group), ErrorCode::kUnsupported, {"vera_A", "save_projection"});
  // The layer takes the corner of its size.
  const KeyPart down = test::key_part({"vera_A", {1, 2}, {10, 99}}),
                up = test::key_part({"vera_B", {3, 1}, {1, 1, 99}});
  group.vera_down = &down;
  group.vera_up = &up;
  expect_near(adapted(layer, group), {30, 60});
  const nn::Layer wide = random_layer({2, 3});
  expect_says(error_of(wide, group), ErrorCode::kMismatch, {"[3, 1]", "[1, 2]", "[2, 3]"});
}

TEST(Loha, NeedsBothHalvesOfBothMatrices) {
  const nn::Layer layer = random_layer({4, 3, 3, 3});
  const std::vector<test::PartValues> flat{random_part("hada_w1_a", {4, 2}, 2), random_part("hada_w1_b", {2, 27}, 3),
                                           random_part("hada_w2_a", {4, 2}, 4),
                                           random_part("hada_w2_b", {2, 3, 3, 3}, 5)};
  EXPECT_TRUE(lower(group_of(flat), site_of(layer), {}));
  auto without = flat;
  without.pop_back();
  expect_says(error_of(layer, group_of(without)), ErrorCode::kMismatch, {"but no hada_w2_b"});
  auto one_middle = flat;
  one_middle.push_back(random_part("hada_t1", {2, 2, 3, 3}, 6));
  expect_says(error_of(layer, group_of(one_middle)), ErrorCode::kMismatch, {"hada_t1 and hada_t2"});
  LowerOptions options;
  options.pair_limit = 3;
  EXPECT_TRUE(std::holds_alternative<nn::Dense>(lower(group_of(flat), site_of(layer), options)->terms[0]));
  options.pair_limit = 4;
  EXPECT_TRUE(std::holds_alternative<nn::Pair>(lower(group_of(flat), site_of(layer), options)->terms[0]));
}

// Row p c + u, column q d + v of the product: left[p, q] right[u, v].
TEST(Lokr, WholeFactorsIgnoreAlphaUnlessPeftSaysSo) {
  const nn::Layer layer = layer_of({4, 2}, std::vector<float>(8, 0));
  KeyGroup group = group_of({{"lokr_w1", {2, 1}, {1, 10}}, {"lokr_w2", {2, 2}, {1, 2, 3, 4}}, {"alpha", {}, {64}}});
  expect_near(adapted(layer, group), {1, 2, 3, 4, 10, 20, 30, 40});
  EXPECT_EQ(lower(group, site_of(layer), {})->used.size(), 3u);
  group.settings.is_peft = true;
  group.settings.alpha = 6;
  group.settings.rank = 12;
  expect_near(adapted(layer, group), {0.5, 1, 1.5, 2, 5, 10, 15, 20});
}

// A split factor of rank 1 is scaled like any other.
TEST(Lokr, RankOneIsScaled) {
  const nn::Layer layer = layer_of({2, 2}, std::vector<float>(4, 0));
  const KeyGroup group = group_of(
      {{"lokr_w1", {1, 1}, {1}}, {"lokr_w2_a", {2, 1}, {1, 2}}, {"lokr_w2_b", {1, 2}, {1, 10}}, {"alpha", {}, {3}}});
  expect_near(adapted(layer, group), {3, 30, 6, 60});
}

TEST(Lokr, BlocksMustTileTheLayer) {
  const nn::Layer layer = random_layer({6, 4});
  expect_says(error_of(layer, group_of({random_part("lokr_w1", {2, 2}, 2), random_part("lokr_w2", {2, 2}, 3)})),
              ErrorCode::kMismatch, {"lokr_w1 [2, 2]", "gives [4, 4]", "layer is [6, 4]"});
  expect_says(error_of(layer, group_of({random_part("lokr_w1", {2, 2}, 2), random_part("lokr_w2_a", {3, 2}, 3),
                                        random_part("lokr_w2_b", {1, 2}, 4)})),
              ErrorCode::kMismatch, {"do not agree on the rank"});
  expect_says(error_of(layer, group_of({random_part("lokr_w1_a", {2, 2}, 2), random_part("lokr_w2", {3, 2}, 3)})),
              ErrorCode::kMismatch, {"but no lokr_w1_b"});
}

// `down` of a grouped convolution sees one group's channels; the product is the same for the rows of every group.
TEST(GroupedConvolution, TakesAdditiveTermsAsRows) {
  nn::Layer layer = layer_of({2, 1, 1, 1}, {0, 0});
  layer.geometry.groups = 2;
  const KeyGroup lora = group_of({{"up", {2, 1}, {1, 2}}, {"down", {1, 1, 1, 1}, {10}}, {"alpha", {}, {0.5f}}});
  const nn::Program program = program_of(lora, site_of(layer));
  ASSERT_TRUE(std::holds_alternative<nn::Dense>(program.terms[0]));
  EXPECT_EQ(std::get<nn::Dense>(program.terms[0]).what, "lora r=1");
  expect_near(adapted(layer, lora), {5, 10});
  expect_near(adapted(layer, group_of({{"lokr_w1", {2, 1}, {1, 2}}, {"lokr_w2", {1, 1, 1, 1}, {10}}})), {10, 20});
}

TEST(Family, TwoDifferencesInOneModuleAreSummed) {
  const nn::Layer layer = layer_of({2, 1}, {0, 0});
  const KeyGroup group = group_of({{"up", {2, 1}, {1, 2}}, {"down", {1, 1}, {10}}, {"diff", {2, 1}, {100, 200}}});
  EXPECT_EQ(family_name(group), "lora + full");
  expect_near(adapted(layer, group), {110, 220});
}

TEST(Family, ATurningOneStandsAlone) {
  const nn::Layer layer = random_layer({2, 1});
  const KeyGroup group =
      group_of({{"up", {2, 1}, {1, 2}}, {"down", {1, 1}, {10}}, {"oft_blocks", {1, 2, 2}, {0, 1, 0, 0}}});
  expect_says(error_of(layer, group), ErrorCode::kUnsupported, {"oft + lora"});
}

TEST(Family, NamesThePartsThatNobodyClaims) {
  const KeyGroup group = group_of({{"weight", {2}, {1, 2}}, {"alpha", {}, {1}}});
  expect_says(error_of(random_layer({2, 2}), group), ErrorCode::kMismatch, {"unet.layer", "alpha, weight", "module"});
  EXPECT_EQ(family_name(group), "");
}

TEST(Family, RefusesByNameWhatAFileCannotSay) {
  const nn::Layer layer = random_layer({2, 2});
  for (const auto& [part, name] : std::map<std::string, std::string>{
           {"q_layer", "T-LoRA"}, {"lambda_layer", "T-LoRA"}, {"oft_r", "before 0.14"}, {"hra_u", "HRA"}})
    expect_says(error_of(layer, group_of({{part, {1}, {1}}, {"up", {2, 1}, {1, 1}}})), ErrorCode::kUnsupported, {name});
}

}  // namespace
}  // namespace veneer::adapt
