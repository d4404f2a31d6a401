// Chains of multiply-adds that never leave the registers, as many as hide the latency of one.
#include "bench/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kChains = 10;

// Returns the number of operations; `sink` receives a value that depends on all of them.
double MultiplyAdds(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(10) for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], factor, term);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  *sink = hn::GetLane(sums[0]);
  return 2.0 * static_cast<double>(rounds) * kChains * static_cast<double>(hn::Lanes(d));
}

}  // namespace veneer::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::bench {

HWY_EXPORT(MultiplyAdds);

double peak_gflops() {
  constexpr int kRuns = 10;
  constexpr int64_t kRounds = 2'000'000;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    double operations = 0;
    float sink = 0;
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel reduction(+ : operations, sink)
    operations += HWY_DYNAMIC_DISPATCH(MultiplyAdds)(kRounds, &sink);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (sink != 0) best = std::max(best, operations / seconds.count() * 1e-9);
  }
  return best;
}

}  // namespace veneer::bench
#endif  // HWY_ONCE
