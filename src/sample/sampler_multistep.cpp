// Linear multistep solvers: x + (next - sigma) times a weighted mean of the last directions d.
#include <array>
#include <cmath>
#include <initializer_list>

#include "sample/sampler_steps.h"

namespace veneer::sample {
namespace {

constexpr int kMaxOrder = 4;
using Weights = std::array<double, kMaxOrder>;  // newest first, zero beyond the order

// Adams-Bashforth for equal steps.
constexpr Weights kAdamsBashforth[kMaxOrder] = {{1.0},
                                                {3.0 / 2.0, -1.0 / 2.0},
                                                {23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0},
                                                {55.0 / 24.0, -59.0 / 24.0, 37.0 / 24.0, -9.0 / 24.0}};

void add_directions(SamplerRun& run, const Weights& weights, double scale) {
  combine(run.x, {{1.0, run.x},
                  {scale * weights[0], run.past(0)},
                  {scale * weights[1], run.past(1)},
                  {scale * weights[2], run.past(2)},
                  {scale * weights[3], run.past(3)}});
}

// The integral from sigma to next of the polynomial that is 1 at level i - j and 0 at the other last `order` levels.
// Two Gauss points are exact for its degree, which is at most 3.
double lagrange_integral(const SamplerRun& run, int order, int j) {
  const double half = (run.next - run.sigma) / 2.0;
  const double centre = (run.next + run.sigma) / 2.0;
  const double offset = half / std::sqrt(3.0);
  double sum = 0.0;
  for (const double point : {centre - offset, centre + offset}) {
    double basis = 1.0;
    for (int k = 0; k < order; ++k) {
      if (k == j) continue;
      const double other = run.sigma_at(run.index - k);
      basis *= (point - other) / (run.sigma_at(run.index - j) - other);
    }
    sum += basis;
  }
  return half * sum;
}

}  // namespace

// Liu et al. 2022 (PNDM) without its warm-up.
Status ipndm_step(SamplerRun& run) {
  add_directions(run, kAdamsBashforth[run.kept() - 1], run.next - run.sigma);
  return {};
}

// With the second order's weights for unequal steps; third and fourth keep the constant ones.
Status ipndm_v_step(SamplerRun& run) {
  if (run.kept() != 2) return ipndm_step(run);
  const double ratio = (run.next - run.sigma) / (run.sigma - run.sigma_at(run.index - 1));
  add_directions(run, {(2.0 + ratio) / 2.0, -ratio / 2.0}, run.next - run.sigma);
  return {};
}

Status lms_step(SamplerRun& run) {
  const int order = std::min(run.kept(), run.options().lms_max_order);
  Weights weights{};
  for (int j = 0; j < order; ++j) weights[static_cast<size_t>(j)] = lagrange_integral(run, order, j);
  add_directions(run, weights, 1.0);
  return {};
}

}  // namespace veneer::sample
