// Noise schedules: the levels sigma_0 > ... > sigma_{n-1} > sigma_n = 0 that a solver walks down. A schedule is one row
// of a constant list and one function that computes its levels. Knows no solver and no network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sample/noise_table.h"

namespace veneer::sample {

// Values of --extra-sample-args that schedules read, with their defaults.
struct ScheduleOptions {
  double alpha = 0.6, beta = 0.6;                // beta: shapes of the distribution, > 0
  std::optional<double> base_shift, max_shift;   // flux (0.5, 1.15), ltx2 (0.95, 2.05): mu at few and many tokens
  bool stretch = true;                           // ltx2: the last level becomes `terminal`
  double terminal = 0.1;                         // ltx2: in (0, 1)
  double mu = 0.0, std = 1.75;                   // logit_normal: centre and width of the logits
  double logsnr_min = -15.0, logsnr_max = 18.0;  // logit_normal: the logits stay within half of these
  bool resolution_aware = true;                  // logit_normal: add log(tokens / 1024) / 2 to mu
};

// Which published timesteps of "Align Your Steps" to take. None exist for SD2: take SD1's and warn.
enum class AysModel { kSd1, kSdxl };

struct ScheduleInput {
  int steps;
  const NoiseTable& table;
  int64_t tokens;  // image tokens of the transformer, > 0: (H/16)(W/16) for 2x2 patches of an 8x latent
  AysModel ays_model = AysModel::kSd1;
  ScheduleOptions options = {};
};

struct Schedule {
  std::string_view name;
  // The levels without the final 0; for `beta` there may be fewer than input.steps.
  Result<std::vector<double>> (*levels)(const ScheduleInput& input);
  // With one step the level is sigma_max, unless the function itself is meant to answer.
  bool answers_one_step = false;
  // Levels within (0, 1] whatever the table: of use to flow models only.
  bool for_flow_only = false;
};

std::span<const Schedule> schedules();

// By name; "normal" is another name for "discrete". Errors: usage.
Result<const Schedule*> schedule_named(std::string_view name);

// The n + 1 levels, strictly decreasing, the last 0. Errors: usage (no steps, more than the schedule can tell apart,
// ays for a flow model), unsupported (gits, a reserved name).
Result<std::vector<float>> make_sigmas(const Schedule& schedule, const ScheduleInput& input);

// Levels given by the user in place of a schedule: at least two, finite, not negative, strictly decreasing; at most 1
// for a flow model. The last need not be 0. Errors: usage.
Result<std::vector<float>> custom_sigmas(std::span<const double> sigmas, bool flow);
// Reads "14.6,3.2,0". Errors: usage.
Result<std::vector<double>> parse_sigmas(std::string_view text);

// Image to image: the last int(steps strength) + 1 steps, so strength 0 runs one step and strength 1 all. Errors: usage
// (strength outside [0, 1]).
Result<std::vector<float>> sigmas_for_strength(std::span<const float> sigmas, double strength);

// Image to image with strength taken as the noise level, a share of the first one: the levels not above it, at least
// one step. With `force_first` the walk begins exactly at that level. Errors: usage (strength outside (0, 1]).
Result<std::vector<float>> sigmas_from_noise_level(std::span<const float> sigmas, double strength, bool force_first);

// Second pass of hires fix: a schedule of int(steps / strength) steps of which the last `steps` are run.
// Errors: usage (strength outside (0, 1], steps below 1).
Result<int> hires_schedule_steps(int steps, double strength);
std::vector<float> last_steps(std::span<const float> sigmas, int steps);

}  // namespace veneer::sample
