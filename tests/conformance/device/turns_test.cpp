// What overlays do to rows of activations, on every device against the reference.
//
// Tolerance: sums of a few dozen products of normals, rounded once or in another order.
#include <numeric>

#include "device_cases.h"

namespace veneer::device {
namespace {

constexpr Tolerance kTolerance{3e-7, 3e-6};
constexpr Tolerance kExact{0, 0};

class TurnsTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Turns, TurnsTest, testing::ValuesIn(tested_devices()));

TEST_P(TurnsTest, ScaleColumns) {
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const int64_t rows = random.integer(1, 90), channels = random.integer(1, 80);
    const int64_t stride = channels + random.integer(0, 9);
    const Values x = random.normal(rows * stride), factors = random.normal(channels);
    const auto run = [&](Device& on) {
      Values y = x;
      on.run(ScaleColumns{y.data(), rows, channels, stride, factors.data(), y.data()});
      return y;
    };
    expect_agreement(run, kExact);
  }
}

TEST_P(TurnsTest, RotateColumns) {
  Random random(2);
  for (int i = 0; i < 30; ++i) {
    const int64_t rows = random.integer(1, 40), n = random.integer(1, 50), count = random.integer(1, 4);
    const int64_t channels = n * count, stride = channels + random.integer(0, 9);
    const Values x = random.normal(rows * stride), blocks = random.normal(channels * n);
    std::vector<int32_t> order(static_cast<size_t>(channels));
    std::iota(order.rbegin(), order.rend(), 0);
    const int32_t* given = random.chance() ? order.data() : nullptr;
    const auto run = [&](Device& on) {
      Values y = x;
      on.run(RotateColumns{x.data(), rows, channels, stride, blocks.data(), n, given, y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

TEST_P(TurnsTest, MixGroups) {
  Random random(3);
  for (int i = 0; i < 30; ++i) {
    const int64_t rows = random.integer(1, 40), width = random.integer(1, 50);
    const int64_t in = random.integer(1, 9), out = random.integer(1, 9), stride = out * width + random.integer(0, 9);
    const Values x = random.normal(rows * in * width), left = random.normal(in * out),
                 before = random.normal(rows * stride);
    const auto run = [&](Device& on) {
      Values y = before;
      on.run(MixGroups{x.data(), rows, width, left.data(), out, in, 0.7f, y.data(), stride});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

TEST_P(TurnsTest, AddDifference) {
  Random random(4);
  for (const int64_t count : {1, 5, 16, 33, 50000}) {
    const Values a = random.normal(count), b = random.normal(count), before = random.normal(count);
    const auto run = [&](Device& on) {
      Values y = before;
      on.run(AddDifference{a.data(), b.data(), count, -0.7f, y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
    Values untouched = before;
    device->run(AddDifference{a.data(), a.data(), count, 1e30f, untouched.data()});
    EXPECT_EQ(untouched, before);
  }
}

}  // namespace
}  // namespace veneer::device
