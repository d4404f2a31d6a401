// Group and layer normalization of every device against the reference.
//
// Tolerance: sums are in double precision, so what is left are a few roundings of single values: 2e-7 as root mean
// square, ten times that at worst. A mean far from zero is itself rounded: the tests with one say so.
#include "device_cases.h"

namespace veneer::device {
namespace {

constexpr Tolerance kTolerance{2e-7, 2e-6};

class NormTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Norms, NormTest, testing::ValuesIn(tested_devices()));

struct GroupCase {
  int64_t batch, pixels, channels, groups;
  bool silu, in_place;
  float mean = 0.3f;
};

void check(Device& device, Device& reference, const GroupCase& c, uint64_t seed, Tolerance tolerance) {
  SCOPED_TRACE(concat("batch ", c.batch, " pixels ", c.pixels, " channels ", c.channels, " groups ", c.groups, " silu ",
                      c.silu, " in place ", c.in_place));
  Random random(seed);
  const Values x = random.normal(c.batch * c.pixels * c.channels, c.mean);
  const Values gain = random.normal(c.channels, 1), bias = random.normal(c.channels);
  const auto run = [&](Device& on) {
    Values y = x;
    on.run(GroupNorm{c.in_place ? y.data() : x.data(), c.batch, c.pixels, c.channels, c.groups, gain.data(),
                     bias.data(), 1e-5f, c.silu, y.data()});
    return y;
  };
  expect_close(run(device), run(reference), tolerance);
}

TEST_P(NormTest, GroupNormOfRandomShapes) {
  Random random(1);
  for (uint64_t i = 0; i < 40; ++i) {
    const int64_t groups = random.integer(1, 8);
    check(*device, *reference,
          {random.integer(1, 2), random.integer(1, 300), groups * random.integer(1, 20), groups, random.chance(),
           random.chance()},
          i, kTolerance);
  }
}

TEST_P(NormTest, GroupNormOfLargeMaps) {
  check(*device, *reference, {1, 512 * 512, 32, 8, false, false}, 2, kTolerance);
  check(*device, *reference, {2, 64 * 64, 320, 32, true, true}, 3, kTolerance);
}

// The mean is a thousand times the deviation: its own rounding, 2^-25 * 1000, is what remains.
TEST_P(NormTest, GroupNormFarFromZero) {
  check(*device, *reference, {1, 4096, 64, 32, false, false, 1000.0f}, 4, {4e-5, 1e-4});
}

TEST_P(NormTest, GroupNormOfConstantMap) {
  const Values x(64 * 32, 5.0f), gain(32, 2.0f), bias(32, 0.25f);
  Values y(x.size());
  device->run(GroupNorm{x.data(), 1, 64, 32, 4, gain.data(), bias.data(), 1e-6f, false, y.data()});
  EXPECT_EQ(y, Values(x.size(), 0.25f));
}

TEST_P(NormTest, LayerNormOfRandomShapes) {
  Random random(5);
  for (uint64_t i = 0; i < 40; ++i) {
    const int64_t rows = random.integer(1, 90), channels = i == 0 ? 1 : random.integer(2, 400);
    const bool with_gain = random.chance(), with_bias = random.chance(), in_place = random.chance();
    SCOPED_TRACE(concat(rows, " x ", channels, " gain ", with_gain, " bias ", with_bias, " in place ", in_place));
    Random values(i);
    const Values x = values.normal(rows * channels, -0.5f, 2), gain = values.normal(channels, 1),
                 bias = values.normal(channels, 1);
    const auto run = [&](Device& on) {
      Values y = x;
      on.run(LayerNorm{in_place ? y.data() : x.data(), rows, channels, with_gain ? gain.data() : nullptr,
                       with_bias ? bias.data() : nullptr, 1e-5f, y.data()});
      return y;
    };
    if (channels > 1) expect_agreement(run, {1e-6, 1e-5});  // two or three close values cancel in their mean
  }
}

}  // namespace
}  // namespace veneer::device
