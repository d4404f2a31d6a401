// Philox rounds and Box-Muller. The constants are the float32 ones of the CUDA library, the arithmetic is float64:
// float32 logarithms and sines lose 1e-6 and more.
#include "sample/philox.h"

#include <cmath>

namespace veneer::sample {
namespace {

constexpr uint64_t kMultiplier0 = 0xD2511F53;
constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kKeyStep0 = 0x9E3779B9;  // golden ratio
constexpr uint32_t kKeyStep1 = 0xBB67AE85;  // sqrt(3) - 1
constexpr int kRounds = 10;

constexpr float kTwoToMinus32 = 2.3283064e-10f;
constexpr float kTwoPiToMinus32 = 2.3283064e-10f * 6.2831855f;

uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }

}  // namespace

PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p = counter[0] * kMultiplier0;
    const uint64_t q = counter[2] * kMultiplier1;
    counter = {high(q) ^ counter[1] ^ key[0], low(q), high(p) ^ counter[3] ^ key[1], low(p)};
    key[0] += kKeyStep0;
    key[1] += kKeyStep1;
  }
  return counter;
}

double philox_normal(const PhiloxCounter& counter, const PhiloxKey& key) {
  constexpr double kScale = kTwoToMinus32;
  constexpr double kAngle = kTwoPiToMinus32;
  const PhiloxCounter block = philox4x32(counter, key);
  const double u = block[0] * kScale + kScale / 2;
  const double v = block[1] * kAngle + kAngle / 2;
  return std::sqrt(-2.0 * std::log(u)) * std::sin(v);
}

void PhiloxGenerator::reseed(uint64_t seed) {
  key_ = {low(seed), high(seed)};
  draw_ = 0;
}

void PhiloxGenerator::normal(std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(philox_normal({draw_, 0, static_cast<uint32_t>(i), 0}, key_));
  ++draw_;
}

}  // namespace veneer::sample
