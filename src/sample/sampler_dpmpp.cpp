// DPM-Solver++ (Lu et al. 2022, arXiv 2211.01095) and its stochastic and ancestral variants, in log sigma:
// h = log(sigma / next).
#include <algorithm>
#include <cmath>

#include "sample/sampler_steps.h"

namespace veneer::sample {
namespace {

// The level in the middle of a step: in log sigma for eps and v models, in log(sigma / (1 - sigma)) for flow models.
double middle_level(const SamplerRun& run, double down) {
  if (!run.is_flow()) return std::sqrt(run.sigma * down);
  return 1.0 / (1.0 + std::sqrt((1.0 - run.sigma) / run.sigma * (1.0 - down) / down));
}

// D extrapolated by the step before, ratio = (distance before) / (distance now).
void extrapolated_step(SamplerRun& run, double ratio, double h) {
  const double extra = 1.0 / (2.0 * ratio);
  const double target = -std::expm1(-h);
  combine(run.x,
          {{run.next / run.sigma, run.x}, {target * (1.0 + extra), run.past(0)}, {-target * extra, run.past(1)}});
}

bool first_order(const SamplerRun& run) { return run.kept() < 2 || run.next == 0.0; }

double h_of(const SamplerRun& run) { return std::log(run.sigma / run.next); }
double h_last_of(const SamplerRun& run) { return std::log(run.sigma_at(run.index - 1) / run.sigma); }

}  // namespace

Status dpmpp_2s_ancestral_step(SamplerRun& run) {
  const NoiseSplit split = run.split();
  const double ratio = split.down / run.sigma;
  // At pure noise a flow model's half step has no length, so the first answer serves.
  const bool pure_noise = run.is_flow() && run.sigma > 1.0 - 1e-6;
  if (split.down == 0.0 || pure_noise) {
    run.move_toward(run.denoised(), ratio);
  } else {
    const double middle = middle_level(run, split.down);
    const double half = middle / run.sigma;
    combine(run.midpoint(), {{half, run.x}, {1.0 - half, run.denoised()}});
    VENEER_TRY(denoised2, run.denoise(run.midpoint(), middle));
    run.move_toward(denoised2, ratio);
  }
  run.add_noise(split);
  return {};
}

Status dpmpp_2m_step(SamplerRun& run) {
  if (first_order(run)) {
    run.move_toward(run.denoised(), run.next / run.sigma);
  } else {
    extrapolated_step(run, h_last_of(run) / h_of(run), h_of(run));
  }
  return {};
}

// As 2m, tamed where step lengths differ: the larger over the smaller distance, and the mean of both as length.
Status dpmpp_2m_v2_step(SamplerRun& run) {
  if (first_order(run)) {
    run.move_toward(run.denoised(), run.next / run.sigma);
  } else {
    const auto [shorter, longer] = std::minmax({h_last_of(run), h_of(run)});
    extrapolated_step(run, longer / shorter, (shorter + longer) / 2.0);
  }
  return {};
}

// A flow model's x is alpha times a state of noise lambda, for which the same rule holds.
Status dpmpp_2m_sde_step(SamplerRun& run) {
  if (run.next == 0.0) {
    run.move_toward(run.denoised(), 0.0);
    return {};
  }
  const SignalLevel from = run.level(run.index);
  const SignalLevel to = run.level(run.index + 1);
  const double h = std::log(from.lambda / to.lambda);
  const double h_last = run.kept() > 1 ? std::log(run.level(run.index - 1).lambda / from.lambda) : 0.0;
  const double eta_h = run.eta() * h;
  const double target = -to.alpha * std::expm1(-h - eta_h);
  const double slope = h_last > 0.0 ? 0.5 * target * h / h_last : 0.0;
  const double kept = to.alpha / from.alpha * to.lambda / from.lambda * std::exp(-eta_h);
  combine(run.x, {{kept, run.x}, {target + slope, run.past(0)}, {-slope, run.past(1)}});
  run.add_noise(to.alpha * to.lambda * std::sqrt(-std::expm1(-2.0 * eta_h)));
  return {};
}

}  // namespace veneer::sample
