// Keys for several layers at once, and for layers with their halves exchanged: every family means the same to each
// layer as to the matrix that the file speaks of.
#include "adapt/fused.h"

#include "codec/joined_rows.h"
#include "codec/row_view.h"
#include "tests/unit/adapt/family_support.h"

namespace veneer::adapt {
namespace {

using test::adapted;
using test::adapted_bias;
using test::expect_near;
using test::expect_says;
using test::group_of;
using test::key_part;
using test::random_layer;
using test::random_part;
using test::random_values;

constexpr int64_t kIn = 6;

struct FusedCase {
  std::string name;
  KeyGroup keys;
};

// For a matrix of 16 rows that stands for layers of 4, 4 and 8: blocks of 3 and of 8 rows cross their borders.
std::vector<FusedCase> cases() {
  const std::vector<test::PartValues> pair{random_part("up", {16, 2}, 2), random_part("down", {2, kIn}, 3)};
  const auto with = [&](const test::PartValues& more) {
    auto parts = pair;
    parts.push_back(more);
    return group_of(parts);
  };
  return {
      {"lora", group_of(pair)},
      {"dora of rows", with(random_part("magnitude", {16, 1}, 4))},
      {"dora of columns", with(random_part("magnitude", {1, kIn}, 5))},
      {"lora and bias", with(random_part("diff_b", {16}, 6))},
      {"loha", group_of({random_part("hada_w1_a", {16, 2}, 7), random_part("hada_w1_b", {2, kIn}, 8),
                         random_part("hada_w2_a", {16, 2}, 9), random_part("hada_w2_b", {2, kIn}, 10)})},
      {"lokr at the borders", group_of({random_part("lokr_w1", {8, 2}, 11), random_part("lokr_w2", {2, 3}, 12)})},
      {"lokr across", group_of({random_part("lokr_w1", {2, 2}, 13), random_part("lokr_w2", {8, 3}, 14)})},
      {"lokr across, in factors", group_of({random_part("lokr_w1", {2, 2}, 13), random_part("lokr_w2_a", {8, 1}, 15),
                                            random_part("lokr_w2_b", {1, 3}, 16)})},
      {"difference", group_of({random_part("diff", {16, kIn}, 17)})},
      {"oft at the borders", group_of({random_part("oft_blocks", {4, 4, 4}, 18)})},
      {"oft across", group_of({random_part("oft_blocks", {2, 8, 8}, 19)})},
      {"input rotation", group_of({random_part("oft_R", {2, 3}, 20)})},
      {"ia3 of outputs", group_of({random_part("ia3_l", {16, 1}, 21)})},
      {"ia3 of inputs", group_of({random_part("ia3_l", {1, kIn}, 22)})},
  };
}

// Three layers, and the layer that they would be as one.
struct Three {
  std::vector<nn::Layer> layers;
  nn::Layer whole;
  std::vector<Site> sites() const {
    std::vector<Site> out;
    for (const nn::Layer& layer : layers) out.push_back(test::site_of(layer));
    return out;
  }
};

Three three_layers() {
  Three three;
  const std::vector<float> values = random_values(16 * kIn, 30), bias = random_values(16, 31);
  const auto part = [](const std::vector<float>& from, int64_t first, int64_t count) {
    return std::vector<float>(from.begin() + first, from.begin() + first + count);
  };
  for (const auto& [first, rows] : {std::pair<int64_t, int64_t>{0, 4}, {4, 4}, {8, 8}})
    three.layers.push_back(test::layer_of({rows, kIn}, part(values, first * kIn, rows * kIn), part(bias, first, rows)));
  three.whole = test::layer_of({16, kIn}, values, bias);
  return three;
}

nn::Program program_of(const Lowered& lowered, double strength) {
  return {lowered.terms, lowered.strength_inside ? 1.0f : static_cast<float>(strength)};
}

// The weight and the bias with one program.
std::vector<double> after(const nn::Layer& layer, const nn::Program& program) {
  const std::vector programs{program};
  std::vector<double> values = nn::adapted_rows(layer, programs, 0, layer.out());
  const auto bias = nn::adapted_vector(layer, programs, nn::Vector::Of::kBias);
  values.insert(values.end(), bias.begin(), bias.end());
  return values;
}

TEST(Fused, EveryFamilyMeansTheSameToTheParts) {
  for (const FusedCase& one : cases())
    for (const double strength : {1.0, -0.5}) {
      SCOPED_TRACE(concat(one.name, " at ", strength));
      const Three three = three_layers();
      const auto fusion = fuse(three.sites(), false);
      ASSERT_TRUE(fusion);
      LowerOptions options;
      options.strength = strength;
      const auto lowered = lower_fused(one.keys, *fusion, options);
      ASSERT_TRUE(lowered) << lowered.error().message;
      std::vector<double> weights, biases;
      for (size_t i = 0; i < three.layers.size(); ++i) {
        const auto values = after(three.layers[i], program_of((*lowered)[i], strength));
        const auto border = values.begin() + three.layers[i].out() * kIn;
        weights.insert(weights.end(), values.begin(), border);
        biases.insert(biases.end(), border, values.end());
      }
      expect_near(weights, adapted(three.whole, one.keys, options));
      expect_near(biases, adapted_bias(three.whole, one.keys, strength));
    }
}

TEST(Fused, ExchangedHalvesAreExchangedBack) {
  for (const FusedCase& one : cases()) {
    SCOPED_TRACE(one.name);
    const nn::Layer model = three_layers().whole;  // whose rows 8 to 15 are the first of the file's
    const auto exchanged = [](std::vector<double> values) {
      std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
      return values;
    };
    const auto floats = [](const std::vector<double>& values) {
      return std::vector<float>(values.begin(), values.end());
    };
    const std::vector<float> stored = model.weight.decode_all();
    nn::Layer file = test::layer_of({16, kIn}, floats(exchanged({stored.begin(), stored.end()})),
                                    floats(exchanged({model.bias.begin(), model.bias.end()})));
    const auto fusion = fuse({test::site_of(model)}, true);
    ASSERT_TRUE(fusion);
    const auto lowered = lower_fused(one.keys, *fusion, {});
    ASSERT_TRUE(lowered) << lowered.error().message;
    ASSERT_EQ(lowered->size(), 1u);
    const auto found = after(model, program_of(lowered->front(), 1));
    const auto border = found.begin() + 16 * kIn;
    expect_near({found.begin(), border}, exchanged(adapted(file, one.keys)));
    expect_near({border, found.end()}, exchanged(adapted_bias(file, one.keys)));
  }
}

TEST(Fused, APairOfSeparatePairsKeepsTheirRanks) {
  // Rank 1 for the first layer's rows, rank 1 for the others'.
  std::vector<float> up(32, 0.0f);
  for (size_t row = 0; row < 16; ++row) up[row * 2 + (row < 4 ? 0 : 1)] = 1;
  const KeyGroup keys = group_of({{"up", {16, 2}, up}, random_part("down", {2, kIn}, 3)});
  const Three three = three_layers();
  const auto lowered = lower_fused(keys, *fuse(three.sites(), false), {});
  ASSERT_TRUE(lowered);
  for (const Lowered& one : *lowered) EXPECT_EQ(std::get<nn::Pair>(one.terms.at(0)).down.shape, (Shape{1, kIn}));
}

// kohya's OFT of FLUX: each slice has its blocks, and a limit by its own rows.
TEST(Fused, SetsOfBlocksAreOfOneSliceEach) {
  const std::vector<Shape> shapes = {{2, 2, 2}, {1, 4, 4}, {2, 4, 4}};
  const test::PartValues alpha{"alpha", {1}, {0.05f}};
  const Three three = three_layers();
  const auto fusion = fuse(three.sites(), false);
  std::vector<test::PartValues> sets{alpha};
  for (size_t i = 0; i < shapes.size(); ++i)
    sets.push_back(random_part(concat("oft_blocks.", i), shapes[i], static_cast<uint32_t>(40 + i)));
  const auto lowered = lower_fused(group_of(sets), *fusion, {});
  ASSERT_TRUE(lowered) << lowered.error().message;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const KeyGroup alone = group_of({alpha, random_part("oft_blocks", shapes[i], static_cast<uint32_t>(40 + i))});
    const auto found = after(three.layers[i], program_of((*lowered)[i], 1));
    expect_near({found.begin(), found.begin() + three.layers[i].out() * kIn}, adapted(three.layers[i], alone));
    EXPECT_EQ((*lowered)[i].used, (std::vector<std::string>{"alpha", "oft_blocks.0", "oft_blocks.1", "oft_blocks.2"}));
  }
  sets.pop_back();
  const auto two = lower_fused(group_of(sets), *fusion, {});
  ASSERT_FALSE(two);
  expect_says(two.error(), ErrorCode::kMismatch, {"2 sets of oft_blocks", "expected 3"});
}

TEST(Fused, RefusesARotationInAnOrderThatMixesLayers) {
  const KeyGroup keys = group_of({random_part("oft_blocks", {2, 2, 8, 8}, 19)});  // butterfly
  const Three three = three_layers();
  const auto lowered = lower_fused(keys, *fuse(three.sites(), false), {});
  ASSERT_FALSE(lowered);
  expect_says(lowered.error(), ErrorCode::kUnsupported, {"rotation", "several layers"});
}

TEST(Fused, AnOrdinaryPlaceIsNone) {
  const nn::Layer layer = random_layer({4, kIn});
  EXPECT_EQ(fuse({test::site_of(layer)}, false), nullptr);
}

TEST(JoinedRows, AreThoseOfThePieces) {
  const nn::Layer a = random_layer({5, 3}, 1), b = random_layer({4, 3}, 2);
  const std::vector<codec::Weight> pieces{codec::rows_of(a.weight, 1, 3), b.weight, codec::rows_of(a.weight, 4, 1)};
  const codec::Weight joined = codec::joined_rows(pieces);
  EXPECT_EQ(joined.shape, (Shape{8, 3}));
  const std::vector<float> from_a = a.weight.decode_all(), from_b = b.weight.decode_all();
  std::vector<float> expected(from_a.begin() + 3, from_a.begin() + 12);
  expected.insert(expected.end(), from_b.begin(), from_b.end());
  expected.insert(expected.end(), from_a.begin() + 12, from_a.end());
  EXPECT_EQ(joined.decode_all(), expected);
  for (int64_t first = 0; first < 8; ++first)
    for (int64_t count = 1; first + count <= 8; ++count) {
      std::vector<float> rows(static_cast<size_t>(count * 3));
      joined.decode_rows(first, count, rows.data());
      EXPECT_TRUE(std::equal(rows.begin(), rows.end(), expected.begin() + first * 3)) << first << "+" << count;
    }
}

}  // namespace
}  // namespace veneer::adapt
