// Activations, additions and copies of every device against the reference.
//
// Tolerance: the functions are within a few units of the last place; copies and plain additions are exact.
#include <limits>

#include "device_cases.h"

namespace veneer::device {
namespace {

constexpr Tolerance kTolerance{2e-7, 1e-6};
constexpr Tolerance kProductTolerance{2e-7, 3e-6};  // a product of two normals is at times ten times its typical size
constexpr Tolerance kExact{0, 0};
constexpr Activation kActivations[] = {Activation::kSilu,      Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kQuickGelu, Activation::kRelu, Activation::kTanhThird};

class ElementwiseTest : public DeviceTest {
 protected:
  Values activated(Device& on, Activation kind, const Values& x) {
    Values y = x;
    on.run(Activate{kind, y.data(), static_cast<int64_t>(y.size()), y.data()});
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(Elementwise, ElementwiseTest, testing::ValuesIn(tested_devices()));

TEST_P(ElementwiseTest, ActivationsOnRandomValues) {
  for (const Activation kind : kActivations)
    for (const int64_t count : {1, 3, 16, 37, 1000, 40000}) {
      SCOPED_TRACE(concat("activation ", static_cast<int>(kind), " count ", count));
      const Values x = Random(static_cast<uint64_t>(count)).normal(count, 0, 2);
      expect_agreement([&](Device& on) { return activated(on, kind, x); }, kTolerance);
    }
}

// On a fine grid every single value is within 3e-7 of itself, or of one where it is smaller; some kinds lose their last
// digits where they cross zero.
TEST_P(ElementwiseTest, ActivationsPointByPoint) {
  Values x;
  for (int i = -200000; i <= 200000; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
  for (const float far : {-1e30f, -1000.0f, -90.0f, 90.0f, 1000.0f, 1e30f}) x.push_back(far);
  for (const Activation kind : kActivations) {
    const Values y = activated(*device, kind, x), expected = activated(*reference, kind, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::abs(double{y[i]} - expected[i]) / std::max(1.0f, std::abs(expected[i])));
    EXPECT_LE(worst, 3e-7) << "activation " << static_cast<int>(kind);
  }
}

TEST_P(ElementwiseTest, ActivationsPassNanOn) {
  for (const Activation kind : kActivations) {
    const Values y = activated(*device, kind, {1.0f, std::numeric_limits<float>::quiet_NaN(), 2.0f});
    EXPECT_TRUE(std::isnan(y[1])) << "activation " << static_cast<int>(kind);
  }
}

TEST_P(ElementwiseTest, Geglu) {
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const int64_t rows = random.integer(1, 80), channels = random.integer(1, 300);
    const Values x = random.normal(rows * 2 * channels);
    const auto run = [&](Device& on) {
      Values y(static_cast<size_t>(rows * channels));
      on.run(Geglu{x.data(), rows, channels, y.data()});
      return y;
    };
    expect_agreement(run, kProductTolerance);
  }
}

TEST_P(ElementwiseTest, AddScaled) {
  Random random(2);
  for (const int64_t count : {1, 5, 16, 33, 50000}) {
    const Values x = random.normal(count), before = random.normal(count);
    const auto run = [&](Device& on) {
      Values y = before;
      on.run(AddScaled{x.data(), count, -0.7f, y.data()});
      return y;
    };
    expect_agreement(run, kTolerance);
  }
}

TEST_P(ElementwiseTest, AddVector) {
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    const int64_t batch = random.integer(1, 3), pixels = random.integer(1, 200), channels = random.integer(1, 70);
    const int64_t stride = channels + (random.chance() ? 0 : random.integer(1, 20));
    const Values x = random.normal(batch * channels), before = random.normal(batch * pixels * stride);
    const auto run = [&](Device& on) {
      Values y = before;
      on.run(AddVector{x.data(), batch, pixels, channels, y.data(), stride});
      return y;
    };
    expect_agreement(run, kExact);
  }
}

TEST_P(ElementwiseTest, Upsample) {
  Random random(4);
  for (int i = 0; i < 20; ++i) {
    const int64_t batch = random.integer(1, 2), height = random.integer(1, 12), width = random.integer(1, 12);
    const int64_t channels = random.integer(1, 40);
    const int64_t out_height = 2 * height - random.integer(0, 1), out_width = 2 * width - random.integer(0, 1);
    const Values x = random.normal(batch * height * width * channels);
    const auto run = [&](Device& on) {
      Values y(static_cast<size_t>(batch * out_height * out_width * channels));
      on.run(Upsample{x.data(), batch, height, width, channels, out_height, out_width, y.data()});
      return y;
    };
    expect_agreement(run, kExact);
  }
}

TEST_P(ElementwiseTest, Concat) {
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const int64_t rows = random.integer(1, 200), a_channels = random.integer(1, 50), b_channels = random.integer(1, 50);
    const Values a = random.normal(rows * a_channels), b = random.normal(rows * b_channels);
    const auto run = [&](Device& on) {
      Values y(static_cast<size_t>(rows * (a_channels + b_channels)));
      on.run(Concat{a.data(), b.data(), rows, a_channels, b_channels, y.data()});
      return y;
    };
    expect_agreement(run, kExact);
  }
}

}  // namespace
}  // namespace veneer::device
