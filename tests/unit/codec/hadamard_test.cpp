// The rotation's laws and its group rule.
#include "codec/hadamard.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace veneer::codec {
namespace {

TEST(Hadamard, GroupIsAPowerOfTwoThatDividesTheChannels) {
  EXPECT_EQ(hadamard_group(320, 256), 64);
  EXPECT_EQ(hadamard_group(48, 256), 16);
  EXPECT_EQ(hadamard_group(1000, 256), 8);
  EXPECT_EQ(hadamard_group(257, 256), 1);
  EXPECT_EQ(hadamard_group(320, 32), 32);
  EXPECT_EQ(hadamard_group(6, 256), 1);  // 2 would divide, and is below 4
  EXPECT_EQ(hadamard_group(1, 256), 1);
}

TEST(Hadamard, SmallestMatrices) {
  std::vector<float> four = {1, 0, 0, 0};
  hadamard_rotate(four.data(), 4, 4);
  EXPECT_EQ(four, std::vector<float>({0.5f, 0.5f, 0.5f, -0.5f}));
  std::vector<float> last = {0, 0, 0, 1};
  hadamard_rotate(last.data(), 4, 4);
  EXPECT_EQ(last, std::vector<float>({-0.5f, 0.5f, 0.5f, 0.5f}));
  std::vector<float> eight(8, 0.0f);
  eight[7] = 1;
  hadamard_rotate(eight.data(), 8, 8);
  const float e = 1.0f / std::sqrt(8.0f);
  EXPECT_EQ(eight, std::vector<float>({e, -e, -e, e, -e, e, e, -e}));
}

// Tolerance: 2 * log2(group) roundings of values up to a few units.
TEST(Hadamard, IsItsOwnInverseAndKeepsLengths) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int64_t group = 4; group <= 1024; group *= 2) {
    std::vector<float> values(static_cast<size_t>(3 * group));
    for (float& value : values) value = normal(random);
    std::vector<float> turned = values;
    hadamard_rotate(turned.data(), 3 * group, group);
    double before = 0, after = 0, changed = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      before += double{values[i]} * values[i];
      after += double{turned[i]} * turned[i];
      changed += std::abs(values[i] - turned[i]);
    }
    EXPECT_NEAR(after / before, 1.0, 1e-5) << group;
    EXPECT_GT(changed / static_cast<double>(values.size()), 0.1) << group;
    hadamard_rotate(turned.data(), 3 * group, group);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(turned[i], values[i], 1e-5) << group << " " << i;
  }
}

// To the bit: passes from the lowest digit up; twice a number is exact, so the order of the additions is all.
TEST(Hadamard, VectorsEqualPlainPasses) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (size_t group = 2; group <= 1024; group *= 2) {
    std::vector<float> values(3 * group);
    for (float& value : values) value = normal(random);
    std::vector<float> expected = values;
    const bool by_fours = std::countr_zero(group) % 2 == 0;
    for (size_t stride = 1; stride < group; stride *= by_fours ? 4 : 2)
      for (size_t i = 0; i < values.size(); ++i) {
        if (i / stride % (by_fours ? 4 : 2) != 0) continue;
        float* v = expected.data() + i;
        const float a = v[0], b = v[stride];
        if (by_fours) {
          const float c = v[2 * stride], d = v[3 * stride];
          const float sum = (a + c) + (b + d);
          v[0] = sum - 2 * d;
          v[stride] = sum - 2 * c;
          v[2 * stride] = sum - 2 * b;
          v[3 * stride] = sum - 2 * a;
        } else {
          v[0] = a + b;
          v[stride] = a - b;
        }
      }
    for (float& value : expected) value *= 1.0f / std::sqrt(static_cast<float>(group));
    hadamard_rotate(values.data(), static_cast<int64_t>(values.size()), static_cast<int64_t>(group));
    EXPECT_EQ(values, expected) << group;
  }
}

}  // namespace
}  // namespace veneer::codec
