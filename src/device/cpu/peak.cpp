// Chains of multiply-adds, enough of them that none waits for another.
#include "device/peak.h"

#include <chrono>

#include "device/cpu/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/peak.cpp"
#include <hwy/foreach_target.h>

#include "device/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::device::cpu::HWY_NAMESPACE {

constexpr int64_t kVectorChains = 12;

// Floating-point operations of `rounds` rounds; `sink` keeps them from being left out.
double RunFloatRounds(int64_t rounds, float* sink) {
  const Vector factor = Constant(0.999f), addend = Constant(0.001f);
  Vector sums[kVectorChains];
  for (int64_t i = 0; i < kVectorChains; ++i) sums[i] = Constant(static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round)
    for (Vector& sum : sums) sum = hn::MulAdd(sum, factor, addend);
  Vector total = sums[0];
  for (int64_t i = 1; i < kVectorChains; ++i) total = hn::Add(total, sums[i]);
  *sink = hn::GetLane(total);
  return 2.0 * static_cast<double>(rounds * kVectorChains * Lanes());
}

}  // namespace veneer::device::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::device::cpu {
namespace {

HWY_EXPORT(RunFloatRounds);

using Rounds = double (*)(int64_t rounds, float* sink);

double float_rounds(int64_t rounds, float* sink) { return HWY_DYNAMIC_DISPATCH(RunFloatRounds)(rounds, sink); }

#if defined(__x86_64__)
bool has_bf16_products() { return __builtin_cpu_supports("avx512bf16") != 0; }

__attribute__((target("avx512f,avx512bf16"))) double bf16_rounds(int64_t rounds, float* sink) {
  constexpr int kChains = 12;
  const __m512bh factor = (__m512bh)_mm512_set1_epi16(0x3c00);
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int64_t round = 0; round < rounds; ++round)
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  __m512 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm512_add_ps(total, sums[i]);
  *sink = _mm512_cvtss_f32(total);
  return 4.0 * 16 * kChains * static_cast<double>(rounds);
}
#else
bool has_bf16_products() { return false; }
double bf16_rounds(int64_t, float*) { return 0; }
#endif

// Operations a second of the whole pool, the best of a few runs: others only ever slow a loop down.
double best_speed(Rounds work) {
  constexpr int64_t kRounds = 1 << 21;
  constexpr int kRuns = 40;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    double operations = 0;
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel reduction(+ : operations)
    {
      float sink = 0;
      operations += work(kRounds, &sink);
      const volatile float kept = sink;  // the sums are wanted
      (void)kept;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / seconds.count());
  }
  return best;
}

}  // namespace

}  // namespace veneer::device::cpu

namespace veneer::device {

Peak measure_processor_peak() {
  Peak peak;
  peak.f32 = cpu::best_speed(cpu::float_rounds);
  if (cpu::has_bf16_products()) peak.bf16 = cpu::best_speed(cpu::bf16_rounds);
  return peak;
}

}  // namespace veneer::device
#endif  // HWY_ONCE
