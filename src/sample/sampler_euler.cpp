// Solvers of Euler kind: one direction per step, or the mean of two.
#include <cmath>

#include "sample/sampler_steps.h"

namespace veneer::sample {
namespace {

// CFG++ (Chung et al. 2024): the noise that is put back is the unconditional one, D + level (x - D_uncond) / sigma.
void renoise_with_uncond(SamplerRun& run, double level) {
  const double ratio = level / run.sigma;
  combine(run.x, {{1.0, run.denoised()}, {ratio, run.x}, {-ratio, run.uncond()}});
}

}  // namespace

// x + d (next - sigma) is the point on the line from x to D whose noise is next / sigma of what it was.
Status euler_step(SamplerRun& run) {
  run.move_toward(run.denoised(), run.next / run.sigma);
  return {};
}

Status euler_ancestral_step(SamplerRun& run) {
  const NoiseSplit split = run.split();
  run.move_toward(run.denoised(), split.down / run.sigma);
  run.add_noise(split);
  return {};
}

// Karras et al. 2022, algorithm 1.
Status heun_step(SamplerRun& run) {
  if (run.next == 0.0) return euler_step(run);
  const std::span<float> p = run.midpoint();
  const double ratio = run.next / run.sigma;
  combine(p, {{ratio, run.x}, {1.0 - ratio, run.denoised()}});
  VENEER_TRY(denoised2, run.denoise(p, run.next));
  const double half = 0.5 * (run.next - run.sigma);
  combine(run.x, {{1.0 + half / run.sigma, run.x},
                  {-half / run.sigma, run.denoised()},
                  {half / run.next, p},
                  {-half / run.next, denoised2}});
  return {};
}

// DPM-Solver-2 (Lu et al. 2022) with the geometric midpoint.
Status dpm2_step(SamplerRun& run) {
  if (run.next == 0.0) return euler_step(run);
  const double middle = std::sqrt(run.sigma * run.next);
  const std::span<float> p = run.midpoint();
  const double ratio = middle / run.sigma;
  combine(p, {{ratio, run.x}, {1.0 - ratio, run.denoised()}});
  VENEER_TRY(denoised2, run.denoise(p, middle));
  const double factor = (run.next - run.sigma) / middle;
  combine(run.x, {{1.0, run.x}, {factor, p}, {-factor, denoised2}});
  return {};
}

Status euler_cfg_pp_step(SamplerRun& run) {
  renoise_with_uncond(run, run.next);
  return {};
}

Status euler_ancestral_cfg_pp_step(SamplerRun& run) {
  const NoiseSplit split = run.split();
  renoise_with_uncond(run, split.down);
  run.add_noise(split);
  return {};
}

// Permenter and Yuan 2024 (arXiv 2306.04848): the direction is extrapolated, gamma d + (1 - gamma) d_last.
Status euler_gradient_estimation_step(SamplerRun& run) {
  if (run.next == 0.0) return euler_step(run);
  const NoiseSplit split = run.split();
  const double gamma = run.kept() > 1 ? run.options().gamma : 1.0;
  const double distance = split.down - run.sigma;
  combine(run.x, {{1.0, run.x}, {gamma * distance, run.past(0)}, {(1.0 - gamma) * distance, run.past(1)}});
  run.add_noise(split);
  return {};
}

}  // namespace veneer::sample
