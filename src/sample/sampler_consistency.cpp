// Solvers for distilled consistency models: each step jumps to a clean image and puts noise back.
#include <algorithm>
#include <cmath>

#include "sample/sampler_steps.h"

namespace veneer::sample {

// Latent consistency models (Luo et al. 2023).
Status lcm_step(SamplerRun& run) {
  const SamplerOptions& options = run.options();
  if (run.next == 0.0) {
    run.move_toward(run.denoised(), 0.0);
    return {};
  }
  const double progress = static_cast<double>(run.index) / std::max(run.steps() - 1, 1);
  const double scale = options.noise_scale_start + progress * (options.noise_scale_end - options.noise_scale_start);
  const std::span<float> noise = run.draw();
  if (options.noise_clip_std > 0.0) {
    const float limit = static_cast<float>(options.noise_clip_std);
    for (float& value : noise) value = std::clamp(value, -limit, limit);
  }
  const double keep = run.is_flow() ? 1.0 - run.next : 1.0;
  combine(run.x, {{keep, run.denoised()}, {run.next * scale, noise}});
  return {};
}

// Trajectory consistency distillation (Zheng et al. 2024), strategic stochastic sampling: down to the timestep
// (1 - eta) t', then noise up to t'. a are cumulative alphas, so the state divided by sqrt(a) is ours.
Status tcd_step(SamplerRun& run) {
  const double eta = std::min(run.eta(), 1.0);
  const bool last = run.next == 0.0;  // ends at timestep 0, not at level 0
  const int timestep = last ? 0 : static_cast<int>((1.0 - eta) * run.table().nearest_timestep(run.next));
  const double a_down = run.table().alpha_cumprod(timestep);
  const double a_next = 1.0 / (1.0 + run.next * run.next);
  const bool noisy = eta > 0.0 && !last;
  const double unscale = 1.0 / std::sqrt(noisy ? a_down : a_next);
  const double image = unscale * std::sqrt(a_down);
  const double noise = unscale * std::sqrt(1.0 - a_down) / run.sigma;
  combine(run.x, {{noise, run.x}, {image - noise, run.denoised()}});
  if (noisy) run.add_noise(std::sqrt(std::max(1.0 - a_next / a_down, 0.0) / a_next));
  return {};
}

}  // namespace veneer::sample
