// The Brownian tree: increments of one path, whatever the steps.
#include "sample/brownian.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sample/random.h"

namespace veneer::sample {
namespace {

constexpr double kSigmaMax = 14.6146;

std::vector<float> normals(uint64_t seed, size_t count) {
  std::vector<float> values(count);
  make_generator(GeneratorKind::kCuda, seed)->normal(values);
  return values;
}

// W(from) - W(to) of every element, not scaled.
std::vector<double> increment(const BrownianTree& tree, double from, double to, size_t count) {
  std::vector<float> scaled(count);
  tree.increment(from, to, scaled);
  std::vector<double> out;
  for (const double value : scaled) out.push_back(value * std::sqrt(from - to));
  return out;
}

double mean_product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum / static_cast<double>(a.size());
}

TEST(BrownianTree, PartsAddUpToTheWhole) {
  constexpr size_t kCount = 16;
  const BrownianTree tree(kSigmaMax, normals(1, kCount), normals(2, kCount));
  const double levels[] = {kSigmaMax, 9.7, 4.2, 1.0, 0.33, 0.0291, 0.0};
  std::vector<double> sum(kCount);
  for (size_t k = 0; k + 1 < std::size(levels); ++k) {
    const std::vector<double> part = increment(tree, levels[k], levels[k + 1], kCount);
    for (size_t i = 0; i < kCount; ++i) sum[i] += part[i];
  }
  const std::vector<double> whole = increment(tree, kSigmaMax, 0.0, kCount);
  for (size_t i = 0; i < kCount; ++i) EXPECT_NEAR(sum[i], whole[i], 5e-6);  // float32 of seven numbers up to 10
}

TEST(BrownianTree, IncrementsAreStandardNormalAndIndependent) {
  constexpr size_t kCount = 20000;
  const BrownianTree tree(kSigmaMax, normals(3, kCount), normals(4, kCount));
  const double levels[] = {kSigmaMax, 7.3073, 7.1, 1.5, 0.05, 0.04999, 0.0291};  // halves, odd places, tiny steps
  std::vector<std::vector<double>> scaled;
  for (size_t k = 0; k + 1 < std::size(levels); ++k) {
    std::vector<float> values(kCount);
    tree.increment(levels[k], levels[k + 1], values);
    scaled.emplace_back(values.begin(), values.end());
  }
  for (size_t a = 0; a < scaled.size(); ++a)
    for (size_t b = 0; b <= a; ++b)  // four deviations of the estimate: 4 sqrt(2 / 20000)
      EXPECT_NEAR(mean_product(scaled[a], scaled[b]), a == b ? 1.0 : 0.0, 0.04) << a << " " << b;
}

TEST(BrownianTree, AnElementsPathGoesWithItsKeysNotItsPlace) {
  std::vector<float> first = normals(5, 8);
  std::vector<float> second = normals(6, 8);
  const std::vector<double> straight = increment(BrownianTree(kSigmaMax, first, second), 3.0, 1.0, 8);
  std::reverse(first.begin(), first.end());
  std::reverse(second.begin(), second.end());
  std::vector<double> turned = increment(BrownianTree(kSigmaMax, first, second), 3.0, 1.0, 8);
  std::reverse(turned.begin(), turned.end());
  EXPECT_EQ(straight, turned);
  EXPECT_NE(straight, increment(BrownianTree(kSigmaMax, first, normals(7, 8)), 3.0, 1.0, 8));
}

}  // namespace
}  // namespace veneer::sample
