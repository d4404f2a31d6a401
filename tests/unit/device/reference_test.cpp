// The reference device, which judges all others, against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "device/devices.h"

namespace veneer::device {
namespace {

using Values = std::vector<float>;

class Reference : public testing::Test {
 protected:
  std::unique_ptr<Device> device = *open_device("ref", 1, false);
};

void expect_near(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6) << "at " << i;
}

TEST_F(Reference, MatmulWithGapsAndAccumulation) {
  const Values w{1, 2, 3, 4, 5, 6};        // [out 3, in 2]
  const Values x{1, 10, 99, 2, 20, 99};    // two rows, three floats apart
  Values y{100, 0, 0, -1, 200, 0, 0, -1};  // four floats apart
  Panel panel;
  device->run(PackMatmul{w.data(), 3, 2, &panel});
  EXPECT_EQ(panel.bytes, 24u);
  device->run(Matmul{x.data(), 2, 3, &panel, y.data(), 4, true});
  EXPECT_EQ(y, (Values{121, 43, 65, -1, 242, 86, 130, -1}));
  device->run(Matmul{x.data(), 2, 3, &panel, y.data(), 4, false});
  EXPECT_EQ(y, (Values{21, 43, 65, -1, 42, 86, 130, -1}));
}

TEST_F(Reference, ConvIsCrossCorrelationWithPaddingOnEachSide) {
  const Values x{1, 2, 3, 4, 5, 6};  // 2 x 3 pixels, one channel
  const Values w{1, 10, 100, 1000};  // 2 x 2
  Panel panel;
  const ConvGeometry geometry{1, 0, 1, 1, 0, 1};  // a column on the left, a row at the bottom
  device->run(PackConv{w.data(), {1, 1, 2, 2}, geometry, 1, 2, 3, &panel});
  Values y(6);
  device->run(Conv{x.data(), 1, 2, 3, &panel, geometry, y.data(), 1});
  EXPECT_EQ(y, (Values{4010, 5421, 6532, 40, 54, 65}));
  const ConvGeometry halved{2, 0, 1, 1, 0, 1};
  Values z(2);
  device->run(Conv{x.data(), 1, 2, 3, &panel, halved, z.data(), 1});
  EXPECT_EQ(z, (Values{4010, 6532}));
}

TEST_F(Reference, GroupsSeeTheirOwnChannelsOnly) {
  const Values x{1, 2, 3, 4};              // one pixel, four channels
  const Values w{1, 1, 1, 2, 5, 5, 7, 0};  // four outputs of two inputs each
  const ConvGeometry geometry{1, 0, 0, 0, 0, 2};
  Panel panel;
  device->run(PackConv{w.data(), {4, 2, 1, 1}, geometry, 1, 1, 1, &panel});
  Values y(4);
  device->run(Conv{x.data(), 1, 1, 1, &panel, geometry, y.data(), 4});
  EXPECT_EQ(y, (Values{3, 5, 35, 21}));
}

TEST_F(Reference, AttentionWeighsByTheSoftmaxOfScaledScores) {
  // Scores of the one query: scale * (0, 2 ln 3); weights 1/4 and 3/4 at scale 1/2.
  const Values q{1}, k{0, 2 * std::log(3.0f)}, v{4, 8};
  Values y(1);
  device->run(Attention{q.data(), k.data(), v.data(), 1, 1, 2, 1, 1, 1, 1, 1, 0.5f, false, nullptr, y.data()});
  expect_near(y, {7});
  const Values mask{std::log(9.0f), 0};
  device->run(Attention{q.data(), k.data(), v.data(), 1, 1, 2, 1, 1, 1, 1, 1, 0.5f, false, mask.data(), y.data()});
  expect_near(y, {5});
}

TEST_F(Reference, CausalQueriesSeeNoLaterKeys) {
  const Values zero(6), v{1, 10, 2, 20, 6, 60};  // three tokens, two heads of width one
  Values y(6);
  device->run(Attention{zero.data(), zero.data(), v.data(), 1, 3, 3, 2, 1, 2, 2, 2, 1, true, nullptr, y.data()});
  expect_near(y, {1, 10, 1.5, 15, 3, 30});
}

TEST_F(Reference, NormsCentreAndScale) {
  const Values x{1, 5, 3, 5, 5, 5}, gain{1, 2}, bias{0, 1};  // three pixels, two channels
  Values y(6);
  const float unit = std::sqrt(1.5f);  // 2 / sqrt(8 / 3)
  device->run(GroupNorm{x.data(), 1, 3, 2, 2, gain.data(), bias.data(), 1e-12f, false, y.data()});
  expect_near(y, {-unit, 1, 0, 1, unit, 1});
  device->run(GroupNorm{x.data(), 1, 3, 2, 2, gain.data(), bias.data(), 1e-12f, true, y.data()});
  expect_near(y, {-unit / (1 + std::exp(unit)), 0.7310586f, 0, 0.7310586f, unit / (1 + std::exp(-unit)), 0.7310586f});
  device->run(LayerNorm{x.data(), 1, 2, gain.data(), nullptr, 0, y.data()});
  expect_near({y[0], y[1]}, {-1, 2});
}

// Values of the usual definitions at 1 and -2, to seven digits.
TEST_F(Reference, Activations) {
  const struct {
    Activation kind;
    Values expected;
  } cases[] = {
      {Activation::kSilu, {0.7310586f, -0.2384058f}},
      {Activation::kGelu, {0.8413447f, -0.0455003f}},
      {Activation::kGeluTanh, {0.8411920f, -0.0454023f}},
      {Activation::kQuickGelu, {0.8457958f, -0.0643415f}},
      {Activation::kRelu, {1, 0}},
      {Activation::kTanhThird, {0.9645391f, -1.7483488f}},
  };
  const Values x{1, -2};
  for (const auto& c : cases) {
    Values y(2);
    device->run(Activate{c.kind, x.data(), 2, y.data()});
    expect_near(y, c.expected);
  }
}

TEST_F(Reference, GegluGatesWithTheSecondHalf) {
  const Values x{2, 3, 1, -2};
  Values y(2);
  device->run(Geglu{x.data(), 1, 2, y.data()});
  expect_near(y, {2 * 0.8413447f, 3 * -0.0455003f});
}

TEST_F(Reference, AdditionsAndMoves) {
  const Values x{1, 2};
  Values y{10, 20};
  device->run(AddScaled{x.data(), 2, -3, y.data()});
  EXPECT_EQ(y, (Values{7, 14}));

  Values rows{0, 0, 5, 0, 0, 5};
  device->run(AddVector{x.data(), 1, 2, 2, rows.data(), 3});
  EXPECT_EQ(rows, (Values{1, 2, 5, 1, 2, 5}));

  Values large(3 * 4);
  const Values small{1, 2, 3, 4};  // 2 x 2
  device->run(Upsample{small.data(), 1, 2, 2, 1, 3, 4, large.data()});
  EXPECT_EQ(large, (Values{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4}));

  Values beside(6);
  device->run(Concat{small.data(), x.data(), 2, 2, 1, beside.data()});
  EXPECT_EQ(beside, (Values{1, 2, 1, 3, 4, 2}));
}

}  // namespace
}  // namespace veneer::device
