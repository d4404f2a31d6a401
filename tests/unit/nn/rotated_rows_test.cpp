// Rotations as changes of the weight, against the definition by sums.
#include "nn/rotated_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace veneer::nn {
namespace {

std::vector<float> random_values(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

Rotate rotation(int64_t blocks, int64_t n, bool ordered, Side side) {
  Rotate rotate{Tensor::from(random_values(blocks * n * n, 5), {blocks, n, n}), {}, side};
  if (!ordered) return rotate;
  rotate.order.resize(static_cast<size_t>(blocks * n));
  std::iota(rotate.order.begin(), rotate.order.end(), 0);
  std::shuffle(rotate.order.begin(), rotate.order.end(), std::mt19937(7));
  return rotate;
}

// R as a dense matrix [channels, channels], in double.
std::vector<double> matrix_of(const Rotate& rotate) {
  const int64_t n = rotate.blocks.shape[1], channels = rotate.blocks.shape[0] * n;
  const auto channel = [&](int64_t at) {
    return rotate.order.empty() ? at : int64_t{rotate.order[static_cast<size_t>(at)]};
  };
  std::vector<double> matrix(static_cast<size_t>(channels * channels));
  for (int64_t at = 0; at < channels; ++at)
    for (int64_t j = 0; j < n; ++j)
      matrix[static_cast<size_t>(channel(at) * channels + channel(at / n * n + j))] = rotate.blocks.f32()[at * n + j];
  return matrix;
}

// Sums of 6 to 8 products of size 1: a few units in the last place.
constexpr double kTolerance = 5e-6;

TEST(RotatedRows, OutputsAreSumsOfRows) {
  constexpr int64_t kRows = 12, kValues = 5;
  const std::vector<float> w = random_values(kRows * kValues, 3);
  const BaseRows base = [&](int64_t first, int64_t count, float* rows) {
    std::copy_n(w.data() + first * kValues, count * kValues, rows);
  };
  for (const bool ordered : {false, true}) {
    const Rotate rotate = rotation(2, 6, ordered, Side::kOutput);
    const std::vector<double> r = matrix_of(rotate);
    const Dense dense = rotated_outputs(rotate, base, kValues);
    EXPECT_FALSE(dense.needs_base);
    for (int64_t first = 0; first < kRows; first += 5) {
      const int64_t count = std::min<int64_t>(5, kRows - first);
      std::vector<float> rows(static_cast<size_t>(count * kValues), 99.0f);
      dense.rows(first, count, rows.data());
      for (int64_t i = 0; i < count; ++i)
        for (int64_t k = 0; k < kValues; ++k) {
          double expected = -double{w[static_cast<size_t>((first + i) * kValues + k)]};
          for (int64_t j = 0; j < kRows; ++j)
            expected += r[static_cast<size_t>((first + i) * kRows + j)] * w[static_cast<size_t>(j * kValues + k)];
          EXPECT_NEAR(rows[static_cast<size_t>(i * kValues + k)], expected, kTolerance) << ordered << " " << first + i;
        }
    }
  }
}

TEST(RotatedRows, InputsAreSumsOfColumnsAtEveryPlaceOfTheKernel) {
  constexpr int64_t kRows = 3, kChannels = 8;
  for (const int64_t kernel : {1, 4})
    for (const bool ordered : {false, true}) {
      const std::vector<float> w = random_values(kRows * kChannels * kernel, 4);
      const Rotate rotate = rotation(2, 4, ordered, Side::kInput);
      const std::vector<double> r = matrix_of(rotate);
      const Dense dense = rotated_inputs(rotate, kernel);
      EXPECT_TRUE(dense.needs_base);
      std::vector<float> rows = w;
      dense.rows(0, kRows, rows.data());
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t c = 0; c < kChannels; ++c)
          for (int64_t k = 0; k < kernel; ++k) {
            const auto at = [&](int64_t channel) {
              return static_cast<size_t>((row * kChannels + channel) * kernel + k);
            };
            double expected = -double{w[at(c)]};
            for (int64_t i = 0; i < kChannels; ++i)
              expected += double{w[at(i)]} * r[static_cast<size_t>(i * kChannels + c)];
            EXPECT_NEAR(rows[at(c)], expected, kTolerance) << ordered << " " << c;
          }
    }
}

}  // namespace
}  // namespace veneer::nn
