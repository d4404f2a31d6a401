// The encoder of Q6_K. It searches for every group the real scale of least squared error over a range of
// first guesses, each followed by a least-squares fit to its own levels; then the integer scales near those; then the
// block's F16 scale, fitted to all integers, as long as that makes the error smaller.
#include <array>
#include <cmath>

#include "codec/k_quants.h"
#include "codec/scale_search.h"

namespace veneer::codec {
namespace {

constexpr int kGroups = 16, kSize = 16;

struct Block {  // value = d * scale * level, both integers
  float d = 0;
  std::array<double, kGroups> scales{};      // -128..127
  std::array<double, kSuperBlock> levels{};  // -32..31
  double error = 0;
};

double assign(const float* x, double scale, double* levels) {
  const double inverse = inverse_of(scale);
  double error = 0;
  for (int i = 0; i < kSize; ++i) {
    levels[i] = nearest(x[i] * inverse, -32, 31);
    const double apart = scale * levels[i] - x[i];
    error += apart * apart;
  }
  return error;
}

double fit_to(const float* x, const double* levels) {
  double qq = 0, xq = 0;
  for (int i = 0; i < kSize; ++i) {
    qq += levels[i] * levels[i];
    xq += x[i] * levels[i];
  }
  return xq * inverse_of(qq);
}

double search(const float* x) {
  const float extreme = *std::max_element(x, x + kSize, [](float a, float b) { return std::abs(a) < std::abs(b); });
  double best = 0;
  std::array<double, kSize> levels;
  double best_error = assign(x, best, levels.data());
  const auto try_steps = [&](double steps) {  // the extreme value taken as so many steps
    assign(x, extreme / steps, levels.data());
    const double scale = fit_to(x, levels.data());
    if (const double error = assign(x, scale, levels.data()); error < best_error) {
      best_error = error;
      best = scale;
    }
  };
  for (int guess = 0; guess <= 8; ++guess) {  // on the side with the extra level, and on the other
    try_steps(-(31 + guess * 0.25));
    try_steps(30 + guess * 0.25);
  }
  return best;
}

double quantize_group(const float* x, double wanted, Block& block, int group) {
  const double scale = wanted * inverse_of(block.d);
  double best = kWorst;
  std::array<double, kSize> levels;
  for (const double step : {0.0, -1.0, 1.0}) {
    const double near = nearest(scale + step, -128, 127);
    const double error = assign(x, block.d * near, levels.data());
    if (!(error < best)) continue;
    best = error;
    block.scales[group] = near;
    std::copy(levels.begin(), levels.end(), &block.levels[group * kSize]);
  }
  return best;
}

Block quantize(const float* x, const std::array<double, kGroups>& wanted, double d) {
  Block block{storable(d)};
  for (int group = 0; group < kGroups; ++group)
    block.error += quantize_group(x + group * kSize, wanted[group], block, group);
  return block;
}

double refit(const float* x, const Block& block) {
  double aa = 0, ax = 0;
  for (int i = 0; i < kSuperBlock; ++i) {
    const double a = block.scales[i / kSize] * block.levels[i];
    aa += a * a;
    ax += a * x[i];
  }
  return ax * inverse_of(aa);
}

void pack(const Block& block, uint8_t* out) {
  std::fill_n(out, 192, uint8_t{0});
  for (int i = 0; i < kSuperBlock; ++i) {
    const int half = i / 128, part = i % 128 / 32, column = i % 32;
    const int level = static_cast<int>(block.levels[i]) + 32;
    uint8_t& low = out[64 * half + 32 * (part % 2) + column];
    uint8_t& upper = out[128 + 32 * half + column];
    low = static_cast<uint8_t>(low | (level & 15) << (4 * (part / 2)));
    upper = static_cast<uint8_t>(upper | (level >> 4) << (2 * part));
  }
  for (int group = 0; group < kGroups; ++group) {
    out[192 + group] = static_cast<uint8_t>(static_cast<int>(block.scales[group]));
  }
  store_f16(block.d, out + 208);
}

}  // namespace

void encode_q6_k(const float* values, uint8_t* out) {
  std::array<double, kGroups> wanted;
  for (int group = 0; group < kGroups; ++group) wanted[group] = search(values + group * kSize);
  const double extreme =
      *std::max_element(wanted.begin(), wanted.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  Block best = quantize(values, wanted, extreme / -128);
  for (int i = 0; i < kRefits; ++i) {
    const Block next = quantize(values, wanted, refit(values, best));
    if (!(next.error < best.error)) break;
    best = next;
  }
  pack(best, out);
}

}  // namespace veneer::codec
