// The two ways in which torch's CPU generator turns words into normal numbers.
#include "sample/mt19937.h"

#include <cmath>
#include <numbers>

namespace veneer::sample {
namespace {

constexpr size_t kBlock = 16;

// Box-Muller on 16 uniform numbers in place: number j is paired with number j + 8.
void box_muller_block(std::span<float> block) {
  constexpr size_t kHalf = kBlock / 2;
  for (size_t j = 0; j < kHalf; ++j) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - block[j]));
    const double angle = 2.0 * std::numbers::pi * block[j + kHalf];
    block[j] = static_cast<float>(radius * std::cos(angle));
    block[j + kHalf] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

void Mt19937Generator::reseed(uint64_t seed) {
  words_.seed(static_cast<uint32_t>(seed));
  pending_.reset();
}

float Mt19937Generator::uniform24() { return static_cast<float>(words_() & 0xFFFFFF) * 0x1p-24f; }

double Mt19937Generator::uniform53() {
  const uint64_t first = words_();
  const uint64_t both = first << 32 | words_();
  return static_cast<double>(both & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

void Mt19937Generator::fill_uniform(std::span<float> out) {
  for (float& value : out) value = uniform24();
}

float Mt19937Generator::next_normal() {
  if (pending_) {
    const float value = *pending_;
    pending_.reset();
    return value;
  }
  const double angle = 2.0 * std::numbers::pi * uniform53();
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform53()));
  pending_ = static_cast<float>(radius * std::sin(angle));
  return static_cast<float>(radius * std::cos(angle));
}

void Mt19937Generator::normal(std::span<float> out) {
  if (out.size() < kBlock) {
    for (float& value : out) value = next_normal();
    return;
  }
  fill_uniform(out);
  for (size_t start = 0; start + kBlock <= out.size(); start += kBlock) box_muller_block(out.subspan(start, kBlock));
  if (out.size() % kBlock != 0) {
    const std::span<float> last = out.last(kBlock);  // overlaps the block before
    fill_uniform(last);
    box_muller_block(last);
  }
}

}  // namespace veneer::sample
