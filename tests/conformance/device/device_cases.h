// What the conformance tests of devices share: random inputs, a device beside the reference, and the comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/devices.h"

namespace veneer::device {

using Values = std::vector<float>;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t integer(int64_t low, int64_t high) {  // both included
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool chance() { return integer(0, 1) == 1; }
  Values normal(int64_t count, float mean = 0, float deviation = 1) {
    Values values(static_cast<size_t>(count));
    std::normal_distribution<float> distribution(mean, deviation);
    for (float& value : values) value = distribution(engine_);
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

inline std::unique_ptr<Device> opened(std::string_view name) {
  auto device = open_device(name, 2, false);
  EXPECT_TRUE(device) << device.error().message;
  return *std::move(device);
}

// `rms`: error against the norm of the expected values; `max`: largest error against their root mean square.
struct Tolerance {
  double rms, max;
};

inline void expect_close(const Values& actual, const Values& expected, Tolerance tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  double error = 0, norm = 0, worst = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(double{actual[i]} - expected[i]);
    ASSERT_TRUE(std::isfinite(actual[i])) << "at " << i;
    error += difference * difference;
    norm += double{expected[i]} * expected[i];
    worst = std::max(worst, difference);
  }
  const double typical = std::sqrt(norm / static_cast<double>(actual.size()));
  EXPECT_LE(std::sqrt(error), tolerance.rms * std::sqrt(norm));
  EXPECT_LE(worst, tolerance.max * typical);
}

// Every device except the reference, which is what they are compared with.
class DeviceTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Device> device = opened(GetParam());
  std::unique_ptr<Device> reference = opened("ref");

  // The results of `run(device)` on both; `run` returns the output.
  template <typename Run>
  void expect_agreement(const Run& run, Tolerance tolerance) {
    expect_close(run(*device), run(*reference), tolerance);
  }
};

inline std::vector<std::string> tested_devices() {
  std::vector<std::string> names;
  for (const DeviceKind& kind : device_kinds())
    if (kind.name != "ref") names.emplace_back(kind.name);
  return names;
}

}  // namespace veneer::device
