// Root-mean-square norms, modulation, gated sums and rotary positions of every device against the reference.
//
// Tolerance: a few roundings of single values, of which one or two may be those of terms that cancel.
#include "device_cases.h"

namespace veneer::device {
namespace {

constexpr Tolerance kTolerance{2e-7, 3e-6};
constexpr Tolerance kExact{0, 0};

class ModulationTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Modulation, ModulationTest, testing::ValuesIn(tested_devices()));

TEST_P(ModulationTest, RmsNorm) {
  Random random(1);
  for (int i = 0; i < 30; ++i) {
    const int64_t rows = random.integer(1, 90), heads = random.integer(1, 5), channels = random.integer(1, 150);
    const int64_t stride = heads * channels + (random.chance() ? 0 : random.integer(1, 40));
    const bool in_place = random.chance();
    SCOPED_TRACE(concat(rows, " x ", heads, " x ", channels, " stride ", stride, " in place ", in_place));
    const Values x = random.normal(rows * stride, 0.5f, 3), gain = random.normal(channels, 1);
    const auto run = [&](Device& on) {
      Values y = x;
      on.run(RmsNorm{in_place ? y.data() : x.data(), rows, heads, channels, stride, gain.data(), 1e-6f, y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

TEST_P(ModulationTest, RmsNormOfZerosIsZero) {
  const Values x(24, 0.0f), gain(12, 2.0f);
  Values y(24, 1.0f);
  device->run(RmsNorm{x.data(), 1, 2, 12, 24, gain.data(), 1e-6f, y.data()});
  EXPECT_EQ(y, x);
}

// Vectors lie side by side in one row for each batch, as a network makes them; or there is one row for all.
TEST_P(ModulationTest, Modulate) {
  Random random(2);
  for (int i = 0; i < 30; ++i) {
    const int64_t batch = random.integer(1, 3), tokens = random.integer(1, 60), channels = random.integer(1, 130);
    const bool one_for_all = random.chance(), in_place = random.chance();
    const Values x = random.normal(batch * tokens * channels), vectors = random.normal(batch * 6 * channels);
    const auto run = [&](Device& on) {
      Values y = x;
      on.run(Modulate{in_place ? y.data() : x.data(), batch, tokens, channels, vectors.data() + 4 * channels,
                      vectors.data() + channels, one_for_all ? 0 : 6 * channels, y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

TEST_P(ModulationTest, AddGated) {
  Random random(3);
  for (int i = 0; i < 30; ++i) {
    const int64_t batch = random.integer(1, 3), tokens = random.integer(1, 60), channels = random.integer(1, 130);
    const bool one_for_all = random.chance();
    const Values x = random.normal(batch * tokens * channels), before = random.normal(batch * tokens * channels);
    const Values vectors = random.normal(batch * 6 * channels);
    const auto run = [&](Device& on) {
      Values y = before;
      on.run(AddGated{x.data(), batch, tokens, channels, vectors.data() + 2 * channels, one_for_all ? 0 : 6 * channels,
                      y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

TEST_P(ModulationTest, Multiply) {
  Random random(4);
  for (const int64_t count : {1, 5, 16, 33, 50000}) {
    const Values a = random.normal(count), b = random.normal(count);
    for (const bool in_place : {false, true}) {
      const auto run = [&](Device& on) {
        Values y = a;
        on.run(Multiply{in_place ? y.data() : a.data(), b.data(), count, y.data()});
        return y;
      };
      expect_agreement(run, kExact);
    }
  }
}

TEST_P(ModulationTest, RotatePairs) {
  Random random(5);
  for (int i = 0; i < 30; ++i) {
    const int64_t batch = random.integer(1, 3), tokens = random.integer(1, 40), heads = random.integer(1, 4);
    const int64_t head_width = 2 * random.integer(1, 70), half = head_width / 2;
    const int64_t stride = heads * head_width + (random.chance() ? 0 : random.integer(1, 40));
    const bool in_place = random.chance();
    SCOPED_TRACE(concat(batch, " x ", tokens, " x ", heads, " x ", head_width, " stride ", stride));
    const Values x = random.normal(batch * tokens * stride), angles = random.normal(tokens * half, 0, 3);
    Values cosines, sines;
    for (const float angle : angles) {
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
    const auto run = [&](Device& on) {
      Values y = x;
      on.run(RotatePairs{in_place ? y.data() : x.data(), batch, tokens, heads, head_width, stride, cosines.data(),
                         sines.data(), y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

// A quarter turn takes (1, 0) to (0, 1): the direction, which two devices could have wrong alike.
TEST_P(ModulationTest, RotatePairsTurnsTheFirstIntoTheSecond) {
  const Values x{1, 0, 0, 2}, cosine{0, 1}, sine{1, 0};
  for (Device* on : {device.get(), reference.get()}) {
    Values y(4);
    on->run(RotatePairs{x.data(), 1, 1, 1, 4, 4, cosine.data(), sine.data(), y.data()});
    EXPECT_EQ(y, Values({0, 1, 0, 2}));
  }
}

}  // namespace
}  // namespace veneer::device
