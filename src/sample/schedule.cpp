// The functions behind each schedule, and their list. In all of them i runs over 0...n-1.
#include "sample/schedule.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "core/format.h"
#include "sample/names.h"
#include "sample/quantile.h"

namespace veneer::sample {
namespace {

using Levels = std::vector<double>;

constexpr double kLastTimestep = kTrainingSteps - 1;

template <typename Function>
Levels generate(int steps, Function level) {
  Levels levels;
  levels.reserve(static_cast<size_t>(steps));
  for (int i = 0; i < steps; ++i) levels.push_back(level(i));
  return levels;
}

Error usage(const std::string& message) { return {ErrorCode::kUsage, message, "scheduler"}; }

// i / (n - 1). Not asked with one step.
double share(int i, int steps) { return static_cast<double>(i) / (steps - 1); }

// 1 - i / n.
double remaining(int i, int steps) { return 1.0 - static_cast<double>(i) / steps; }

Result<Levels> discrete(const ScheduleInput& in) {
  return generate(in.steps, [&](int i) { return in.table.sigma(kLastTimestep * (1.0 - share(i, in.steps))); });
}

// Karras et al. 2022, equation 5.
Result<Levels> karras(const ScheduleInput& in) {
  constexpr double kRho = 7.0;
  const double a = std::pow(in.table.sigma_max(), 1.0 / kRho);
  const double b = std::pow(std::max(in.table.sigma_min(), 1e-6), 1.0 / kRho);
  return generate(in.steps, [&](int i) { return std::pow(a + share(i, in.steps) * (b - a), kRho); });
}

Result<Levels> exponential(const ScheduleInput& in) {
  const double a = std::log(in.table.sigma_max());
  const double b = std::log(in.table.sigma_min());
  return generate(in.steps, [&](int i) { return std::exp(a + share(i, in.steps) * (b - a)); });
}

// Sabour et al. 2024 (arXiv 2404.14507), appendix: optimal for Gaussian data.
Result<Levels> kl_optimal(const ScheduleInput& in) {
  const double a = std::atan(in.table.sigma_max());
  const double b = std::atan(in.table.sigma_min());
  return generate(in.steps, [&](int i) { return std::tan(a + share(i, in.steps) * (b - a)); });
}

Result<Levels> sgm_uniform(const ScheduleInput& in) {
  return generate(in.steps, [&](int i) { return in.table.sigma(kLastTimestep * remaining(i, in.steps)); });
}

// Quotient and product in float64: float32, or exact integers, would choose other timesteps for some n.
Result<Levels> simple(const ScheduleInput& in) {
  const double stride = static_cast<double>(kTrainingSteps) / in.steps;
  return generate(in.steps, [&](int i) { return in.table.sigma(kLastTimestep - std::trunc(i * stride)); });
}

Result<Levels> smoothstep(const ScheduleInput& in) {
  return generate(in.steps, [&](int i) {
    const double u = remaining(i, in.steps);
    return in.table.sigma(std::round(kLastTimestep * u * u * (3.0 - 2.0 * u)));
  });
}

// Lee et al. 2024 (arXiv 2407.12173): timesteps by the quantiles of a beta distribution; equal neighbours are dropped.
Result<Levels> beta(const ScheduleInput& in) {
  Levels levels;
  double last = kTrainingSteps;
  for (int i = 0; i < in.steps; ++i) {
    const double quantile = beta_quantile(remaining(i, in.steps), in.options.alpha, in.options.beta);
    const double t = std::nearbyint(kLastTimestep * quantile);  // half to even
    if (t != last) levels.push_back(in.table.sigma(t));
    last = t;
  }
  return levels;
}

// The grid that latent consistency models are distilled on: every 20th training timestep.
Result<Levels> lcm(const ScheduleInput& in) {
  constexpr int kOriginalSteps = 50;
  constexpr int kStride = kTrainingSteps / kOriginalSteps;
  if (in.steps > kOriginalSteps)
    return usage(concat("schedule lcm: has ", kOriginalSteps, " levels, ", in.steps, " steps asked; use fewer steps"));
  return generate(
      in.steps, [&](int i) { return in.table.sigma(kStride * (kOriginalSteps - kOriginalSteps * i / in.steps) - 1); });
}

// Timesteps published by Sabour, Fidler and Kreis with "Align Your Steps" (arXiv 2404.14507).
constexpr double kAysSd1[] = {999, 850, 736, 645, 545, 455, 343, 233, 124, 24, 0};
constexpr double kAysSdxl[] = {999, 845, 730, 587, 443, 310, 193, 116, 53, 13, 0};

// Other numbers of steps: positions equally spaced over the list, linear in log sigma. The last level becomes 0.
Result<Levels> ays(const ScheduleInput& in) {
  if (in.table.is_flow()) return usage("schedule ays: no levels were published for flow models; use another schedule");
  const std::span<const double> timesteps = in.ays_model == AysModel::kSdxl ? kAysSdxl : kAysSd1;
  return generate(in.steps, [&](int i) {
    const double position = static_cast<double>(i) * static_cast<double>(timesteps.size() - 1) / in.steps;
    const size_t below = static_cast<size_t>(position);
    const double weight = position - std::floor(position);
    const double low = std::log(in.table.sigma(timesteps[below]));
    const double high = std::log(in.table.sigma(timesteps[below + 1]));
    return std::exp(low + weight * (high - low));
  });
}

Result<Levels> gits(const ScheduleInput&) {
  return Error{ErrorCode::kUnsupported,
               "schedule gits: the name is reserved, its levels are not available; use another schedule", "scheduler"};
}

// A falling arctan from `high` to `low` in `count` values, steepest at `pivot`.
Levels arctan_piece(int count, int pivot, double slope, double high, double low) {
  const auto curve = [&](int x) { return 0.5 - std::atan(slope * (x - pivot)) / std::numbers::pi; };
  const double first = curve(0);
  const double last = curve(count - 1);
  return generate(count, [&](int x) { return low + (curve(x) - last) / (first - last) * (high - low); });
}

Result<Levels> bong_tangent(const ScheduleInput& in) {
  const int count = in.steps + 2;
  const int middle_index = static_cast<int>(0.6 * count);
  const double slope = 0.2 * 40.0 / count;
  const double high = in.table.sigma_max();
  const double low = in.table.sigma_min();
  const double middle = (high + low) / 2.0;
  Levels levels = arctan_piece(middle_index, middle_index, slope, high, middle);
  levels.pop_back();  // the second piece begins with it
  const Levels tail = arctan_piece(count - middle_index, 0, slope, middle, low);
  levels.insert(levels.end(), tail.begin(), tail.end() - 1);  // its last value becomes 0
  return levels;
}

Levels shifted_uniform(int steps, double mu) {
  return generate(steps, [&](int i) { return shifted_time(remaining(i, steps), std::exp(mu)); });
}

// mu linear in the number of tokens: `base` at base_tokens, `max` at 4096.
double mu_of_tokens(int64_t tokens, double base_tokens, double base, double max) {
  return base + (static_cast<double>(tokens) - base_tokens) * (max - base) / (4096.0 - base_tokens);
}

Result<Levels> flux(const ScheduleInput& in) {
  return shifted_uniform(in.steps, mu_of_tokens(in.tokens, 256.0, in.options.base_shift.value_or(0.5),
                                                in.options.max_shift.value_or(1.15)));
}

// mu by the empirical fit of the FLUX.2 reference: between lines for 10 and 200 steps, one line for large pictures.
Result<Levels> flux2(const ScheduleInput& in) {
  const double tokens = static_cast<double>(in.tokens);
  const double mu_200 = 0.00016927 * tokens + 0.45666666;
  if (in.tokens > 4300) return shifted_uniform(in.steps, mu_200);
  const double mu_10 = 8.73809524e-5 * tokens + 1.89833333;
  return shifted_uniform(in.steps, mu_10 + (in.steps - 10) * (mu_200 - mu_10) / 190.0);
}

Result<Levels> ltx2(const ScheduleInput& in) {
  Levels levels = shifted_uniform(in.steps, mu_of_tokens(in.tokens, 1024.0, in.options.base_shift.value_or(0.95),
                                                         in.options.max_shift.value_or(2.05)));
  if (!in.options.stretch || in.steps == 1) return levels;
  const double factor = (1.0 - levels.back()) / (1.0 - in.options.terminal);
  for (double& level : levels) level = 1.0 - (1.0 - level) / factor;
  return levels;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

Result<Levels> logit_normal(const ScheduleInput& in) {
  const ScheduleOptions& options = in.options;
  const double resolution = options.resolution_aware ? 0.5 * std::log(static_cast<double>(in.tokens) / 1024.0) : 0.0;
  const double mean = options.mu + resolution;
  const double top = sigmoid(0.5 * options.logsnr_max);
  const double bottom = sigmoid(0.5 * options.logsnr_min);
  return generate(in.steps, [&](int i) {
    if (i == 0) return top;  // the quantile of 0 is minus infinity
    const double z = normal_quantile(static_cast<double>(i) / in.steps);
    return std::min(std::max(sigmoid(mean - options.std * z), bottom), top);
  });
}

constexpr Schedule kSchedules[] = {
    {"discrete", discrete},
    {"karras", karras},
    {"exponential", exponential},
    {"ays", ays, true},
    {"gits", gits, true},
    {"sgm_uniform", sgm_uniform, true},
    {"simple", simple},
    {"smoothstep", smoothstep},
    {"kl_optimal", kl_optimal},
    {"lcm", lcm},
    {"bong_tangent", bong_tangent},
    {"ltx2", ltx2, true, true},
    {"logit_normal", logit_normal, true, true},
    {"flux2", flux2, true, true},
    {"flux", flux, true, true},
    {"beta", beta},
};

}  // namespace

std::span<const Schedule> schedules() { return kSchedules; }

Result<const Schedule*> schedule_named(std::string_view name) {
  return row_named<Schedule>(kSchedules, "scheduler", name == "normal" ? "discrete" : name);
}

Result<std::vector<float>> make_sigmas(const Schedule& schedule, const ScheduleInput& input) {
  constexpr int kMaxSteps = 10000;
  VENEER_CHECK(input.tokens > 0);
  if (input.steps < 1 || input.steps > kMaxSteps)
    return usage(concat("steps: expects 1 to ", kMaxSteps, ", found ", input.steps));
  const bool one_level = input.steps == 1 && !schedule.answers_one_step;
  VENEER_TRY(levels, one_level ? Result<Levels>(Levels{input.table.sigma_max()}) : schedule.levels(input));
  std::vector<float> sigmas(levels.begin(), levels.end());
  sigmas.push_back(0.0f);
  const auto flat = std::adjacent_find(sigmas.begin(), sigmas.end(), [](float a, float b) { return !(a > b); });
  if (flat != sigmas.end())
    return usage(concat("schedule ", schedule.name, ": level ", flat - sigmas.begin() + 1, " of ", input.steps,
                        " steps is not below the one before it (", *flat, "); use fewer steps"));
  return sigmas;
}

}  // namespace veneer::sample
