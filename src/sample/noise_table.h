// Noise levels of the 1000 training timesteps: sigma(t) for real t and its inverse. Knows nothing of schedules, which
// choose timesteps, nor of what a network predicts.
//
// eps and v models: sigma = sqrt((1 - a) / a) with a = the cumulative product of 1 - beta ("alphas_cumprod").
// Flow models:      sigma = s u / (1 + (s - 1) u) with u = (t + 1) / 1000 and the shift s; the exponential shift mu of
//                   the Flux family is the same with s = e^mu.
// EDM models:       sigma = exp(t / 250) over [0.002, 120].
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::sample {

constexpr int kTrainingSteps = 1000;

// Betas of the training process by the name scheduler configurations use: "linear", or "scaled_linear" (linear in the
// square root). Errors: unsupported (another name), bad_file (not 0 < start <= end < 1).
Result<std::vector<double>> betas_named(std::string_view schedule, double start, double end);

// The running product of 1 - beta.
std::vector<double> cumulative_alphas(std::span<const double> betas);

// Lin et al., "Common diffusion noise schedules and sample steps are flawed" (2024), algorithm 1: shifts and scales
// sqrt(alphas_cumprod) so that the last is 0 and the first stays.
std::vector<double> rescaled_to_zero_terminal_snr(std::span<const double> alphas_cumprod);

// The flow shift of a time u in (0, 1].
double shifted_time(double u, double shift);

class NoiseTable {
 public:
  // Takes 1000 cumulative alphas, falling within [0, 1]; a last value of 0 (zero terminal SNR) is replaced by 4.9e-8,
  // which is sigma 4518.8. Errors: bad_file naming the first value that is wrong.
  static Result<NoiseTable> from_alphas_cumprod(std::span<const double> alphas_cumprod);
  // Errors: usage (shift not positive and finite).
  static Result<NoiseTable> flow(double shift);
  static Result<NoiseTable> flow_exponential(double mu);
  static NoiseTable edm();

  bool is_flow() const { return kind_ == Kind::kFlow; }
  double sigma_min() const;
  double sigma_max() const;

  // t in [0, 999]. A table is interpolated linearly in log sigma.
  double sigma(double t) const;
  // The inverse, clamped to [0, 999] except for EDM. sigma > 0.
  double timestep(double sigma) const;
  // The whole timestep whose level is nearest to `sigma`.
  int nearest_timestep(double sigma) const;
  // 1 / (1 + sigma(t)^2): the share of signal in the variance of an eps or v model at timestep t.
  double alpha_cumprod(int t) const;

 private:
  enum class Kind { kTable, kFlow, kEdm };
  NoiseTable(Kind kind, double shift) : kind_(kind), shift_(shift) {}

  Kind kind_;
  double shift_;                    // flow
  std::vector<double> log_sigmas_;  // table: the logarithms of the levels rounded to float32
};

}  // namespace veneer::sample
