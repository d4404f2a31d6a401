// The encoder of Q4_K. It searches for every group the real scale and minimum of least squared error over a range of
// first guesses, each followed by a least-squares fit to its own levels; then the integer scales near those; then the
// block's F16 scales, fitted to all integers, as long as that makes the error smaller.
#include <array>

#include "codec/k_quants.h"
#include "codec/scale_search.h"

namespace veneer::codec {
namespace {

constexpr int kGroups = 8, kSize = 32, kTop = 15, kTopScale = 63;

struct Fit {  // value = scale * level - minimum, both at least 0
  double scale = 0, minimum = 0;
};

struct Block {
  float d = 0, dm = 0;
  std::array<Fit, kGroups> scales{};  // integers
  std::array<double, kSuperBlock> levels{};
  double error = 0;
};

// Levels of a group under a real scale and minimum; returns the squared error.
double assign(const float* x, const Fit& fit, double* levels) {
  const double inverse = inverse_of(fit.scale);
  double error = 0;
  for (int i = 0; i < kSize; ++i) {
    levels[i] = nearest((x[i] + fit.minimum) * inverse, 0, kTop);
    const double apart = fit.scale * levels[i] - fit.minimum - x[i];
    error += apart * apart;
  }
  return error;
}

// The scale and minimum of least squared error for given levels.
Fit fit_to(const float* x, const double* levels) {
  double q = 0, qq = 0, sum = 0, xq = 0;
  for (int i = 0; i < kSize; ++i) {
    q += levels[i];
    qq += levels[i] * levels[i];
    sum += x[i];
    xq += x[i] * levels[i];
  }
  const double determinant = kSize * qq - q * q;
  if (determinant <= 0) return {0, std::max(0.0, -sum / kSize)};
  const Fit fit{(kSize * xq - q * sum) / determinant, (q * xq - qq * sum) / determinant};
  return fit.minimum >= 0 ? fit : Fit{xq / qq, 0};
}

Fit search(const float* x) {
  const auto [least, most] = std::minmax_element(x, x + kSize);
  const double low = std::min(0.0f, *least), range = *most - low;
  Fit best;
  std::array<double, kSize> levels;
  double best_error = assign(x, best, levels.data());
  for (int guess = 0; guess <= 14; ++guess) {  // the range taken as 12.5 to 16 steps
    assign(x, {range / (12.5 + guess * 0.25), -low}, levels.data());
    const Fit fit = fit_to(x, levels.data());
    if (!(fit.scale >= 0)) continue;
    if (const double error = assign(x, fit, levels.data()); error < best_error) {
      best_error = error;
      best = fit;
    }
  }
  return best;
}

// Chooses integer scale and minimum of a group near `wanted`, and its levels; returns the squared error.
double quantize_group(const float* x, const Fit& wanted, Block& block, int group) {
  constexpr Fit kSteps[] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  const double scale = wanted.scale * inverse_of(block.d), minimum = wanted.minimum * inverse_of(block.dm);
  double best = kWorst;
  std::array<double, kSize> levels;
  for (const Fit& step : kSteps) {
    const Fit near{nearest(scale + step.scale, 0, kTopScale), nearest(minimum + step.minimum, 0, kTopScale)};
    const double error = assign(x, {block.d * near.scale, block.dm * near.minimum}, levels.data());
    if (!(error < best)) continue;
    best = error;
    block.scales[group] = near;
    std::copy(levels.begin(), levels.end(), &block.levels[group * kSize]);
  }
  return best;
}

Block quantize(const float* x, const std::array<Fit, kGroups>& wanted, double d, double dm) {
  Block block{storable(d), storable(dm)};
  for (int group = 0; group < kGroups; ++group)
    block.error += quantize_group(x + group * kSize, wanted[group], block, group);
  return block;
}

// The d and dm of least squared error for the integers of a block, as a Fit.
Fit refit(const float* x, const Block& block) {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;  // a = scale * level, b = -minimum
  for (int i = 0; i < kSuperBlock; ++i) {
    const Fit& scale = block.scales[i / kSize];
    const double a = scale.scale * block.levels[i], b = -scale.minimum;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ax += a * x[i];
    bx += b * x[i];
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant <= 0) return {ax * inverse_of(aa), block.dm};
  return {(ax * bb - bx * ab) / determinant, (bx * aa - ax * ab) / determinant};
}

void pack(const Block& block, uint8_t* out) {
  store_f16(block.d, out);
  store_f16(block.dm, out + 2);
  uint8_t* packed = out + 4;
  for (int group = 0; group < 4; ++group) {
    const Fit &first = block.scales[group], &second = block.scales[group + 4];
    const int scale = static_cast<int>(second.scale), minimum = static_cast<int>(second.minimum);
    packed[group] = static_cast<uint8_t>(static_cast<int>(first.scale) | (scale >> 4) << 6);
    packed[group + 4] = static_cast<uint8_t>(static_cast<int>(first.minimum) | (minimum >> 4) << 6);
    packed[group + 8] = static_cast<uint8_t>((scale & 15) | (minimum & 15) << 4);
  }
  for (int i = 0; i < kSuperBlock / 2; ++i) {  // two groups share 32 bytes
    const double* level = &block.levels[i / kSize * 2 * kSize + i % kSize];
    out[16 + i] = static_cast<uint8_t>(static_cast<int>(level[0]) | static_cast<int>(level[kSize]) << 4);
  }
}

}  // namespace

void encode_q4_k(const float* values, uint8_t* out) {
  std::array<Fit, kGroups> wanted;
  double scale = 0, minimum = 0;
  for (int group = 0; group < kGroups; ++group) {
    wanted[group] = search(values + group * kSize);
    scale = std::max(scale, wanted[group].scale);
    minimum = std::max(minimum, wanted[group].minimum);
  }
  Block best = quantize(values, wanted, scale / kTopScale, minimum / kTopScale);
  for (int i = 0; i < kRefits; ++i) {
    const Fit fit = refit(values, best);
    if (!(fit.scale > 0 && fit.minimum >= 0)) break;
    const Block next = quantize(values, wanted, fit.scale, fit.minimum);
    if (!(next.error < best.error)) break;
    best = next;
  }
  pack(best, out);
}

}  // namespace veneer::codec
