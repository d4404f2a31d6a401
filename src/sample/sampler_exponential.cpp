// Exponential integrators: RES (Zhang et al. 2023, "Improved order analysis and design of exponential integrator for
// diffusion models sampling") and the extended reverse-time SDE solver (Cui et al. 2023, arXiv 2309.06169).
#include <algorithm>
#include <cmath>

#include "sample/sampler_steps.h"

namespace veneer::sample {
namespace {

// phi_1(z) = (e^z - 1) / z and phi_2(z) = (phi_1(z) - 1) / z, by their series where the quotient loses digits.
double phi1(double z) { return std::abs(z) > 1e-9 ? std::expm1(z) / z : 1.0 + z / 2.0; }
double phi2(double z) { return std::abs(z) > 1e-5 ? (phi1(z) - 1.0) / z : 0.5 + z / 6.0; }

// The noise scaling function recommended in the paper.
double noise_scaling(double lambda) { return lambda * (std::exp(std::pow(lambda, 0.3)) + 10.0); }

// Integrals over [to, from] of 1/g(l) and (l - from)/g(l), by left points.
struct SdeIntegrals {
  double first = 0.0, second = 0.0;
};
SdeIntegrals sde_integrals(double from, double to) {
  constexpr int kPoints = 200;
  const double width = (from - to) / kPoints;
  SdeIntegrals integrals;
  for (int p = 0; p < kPoints; ++p) {
    const double lambda = to + p * width;
    const double share = width / noise_scaling(lambda);
    integrals.first += share;
    integrals.second += (lambda - from) * share;
  }
  return integrals;
}

// Weights of D, D_last and D_last2 that correct the first-order step: c1 D' + c2 D'' with divided differences in
// lambda.
struct SdeCorrection {
  double now = 0.0, last = 0.0, last2 = 0.0;
};
SdeCorrection sde_correction(const SamplerRun& run, const SignalLevel& from, const SignalLevel& to) {
  SdeCorrection weights;
  if (run.kept() < 2) return weights;
  const double g = noise_scaling(to.lambda);
  const double delta = to.lambda - from.lambda;
  const SdeIntegrals integrals = sde_integrals(from.lambda, to.lambda);
  const double lambda_last = run.level(run.index - 1).lambda;
  const double gap = from.lambda - lambda_last;
  if (gap == 0.0) return weights;  // two flow levels above the clamp
  const double c1 = to.alpha * (delta + g * integrals.first);
  weights = {c1 / gap, -c1 / gap, 0.0};
  if (run.kept() < 3) return weights;
  const double lambda_last2 = run.level(run.index - 2).lambda;
  const double gap_last = lambda_last - lambda_last2;
  if (gap_last == 0.0) return weights;
  const double c2 = to.alpha * (delta * delta / 2.0 + g * integrals.second);
  const double curvature = c2 * 2.0 / (from.lambda - lambda_last2);
  weights.now += curvature / gap;
  weights.last -= curvature / gap + curvature / gap_last;
  weights.last2 += curvature / gap_last;
  return weights;
}

}  // namespace

Status res_multistep_step(SamplerRun& run) {
  const NoiseSplit split = run.split();
  if (split.down == 0.0 || run.kept() < 2) {
    run.move_toward(run.denoised(), split.down / run.sigma);
  } else {
    const double h = std::log(run.sigma / split.down);
    // Minus infinity if eta took all of the step before; the step is then of first order.
    const double c = std::log(run.split(run.index - 1).down / run.sigma_at(run.index - 1)) / h;
    const double b2 = phi2(-h) / c;
    const double b1 = phi1(-h) - b2;
    combine(run.x, {{split.down / run.sigma, run.x}, {h * b1, run.past(0)}, {h * b2, run.past(1)}});
  }
  run.add_noise(split);
  return {};
}

Status res_2s_step(SamplerRun& run) {
  const NoiseSplit split = run.split();
  if (split.down == 0.0) {
    run.move_toward(run.denoised(), 0.0);
  } else {
    const double h = std::log(run.sigma / split.down);
    const double half = std::exp(-h / 2.0);
    combine(run.midpoint(), {{half, run.x}, {1.0 - half, run.denoised()}});
    VENEER_TRY(denoised2, run.denoise(run.midpoint(), run.sigma * half));
    const double b2 = 2.0 * phi2(-h);
    combine(run.x, {{split.down / run.sigma, run.x}, {h * (phi1(-h) - b2), run.denoised()}, {h * b2, denoised2}});
  }
  run.add_noise(split);
  return {};
}

Status er_sde_step(SamplerRun& run) {
  if (run.next == 0.0) {
    run.move_toward(run.denoised(), 0.0);
    return {};
  }
  const SignalLevel from = run.level(run.index);
  const SignalLevel to = run.level(run.index + 1);
  const double ratio = noise_scaling(to.lambda) / noise_scaling(from.lambda);
  const SdeCorrection correction = sde_correction(run, from, to);
  combine(run.x, {{to.alpha / from.alpha * ratio, run.x},
                  {to.alpha * (1.0 - ratio) + correction.now, run.past(0)},
                  {correction.last, run.past(1)},
                  {correction.last2, run.past(2)}});
  const double variance = to.lambda * to.lambda - from.lambda * from.lambda * ratio * ratio;
  run.add_noise(run.eta() * to.alpha * std::sqrt(std::max(variance, 0.0)));
  return {};
}

}  // namespace veneer::sample
