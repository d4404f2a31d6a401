// Chains of multiply-adds that never leave the registers, as many as hide the latency of one. The compiler's own
// vectors are used, so that the yardstick is not the library that it measures.
#include "bench/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace veneer::bench {
namespace {

constexpr int64_t kRounds = 2'000'000;

using Floats16 [[gnu::vector_size(64)]] = float;
using Floats8 [[gnu::vector_size(32)]] = float;
using Floats4 [[gnu::vector_size(16)]] = float;

// Returns the number of operations; `sink` receives a value that depends on all of them.
template <typename Vector>
[[gnu::always_inline]] inline double chains(float* sink) {
  constexpr int kChains = 10;
  Vector sums[kChains] = {};
  for (int i = 0; i < kChains; ++i) sums[i] += static_cast<float>(i);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * 0.999f + 0.001f;
  }
  for (int i = 0; i < kChains; ++i) *sink += sums[i][0];
  return 2.0 * static_cast<double>(kRounds) * kChains * sizeof(Vector) / sizeof(float);
}

[[gnu::target("avx512f")]] double chains_avx512(float* sink) { return chains<Floats16>(sink); }
[[gnu::target("avx2,fma")]] double chains_avx2(float* sink) { return chains<Floats8>(sink); }
double chains_sse(float* sink) { return chains<Floats4>(sink); }

auto best_chains() {
  if (__builtin_cpu_supports("avx512f")) return chains_avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? chains_avx2 : chains_sse;
}

}  // namespace

double peak_gflops() {
  const auto measured = best_chains();
  double best = 0;
  for (int run = 0; run < 10; ++run) {
    double operations = 0;
    float sink = 0;
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel reduction(+ : operations, sink)
    operations += measured(&sink);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (sink != 0) best = std::max(best, operations / seconds.count() * 1e-9);
  }
  return best;
}

}  // namespace veneer::bench
