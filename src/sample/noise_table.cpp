// Noise levels of the training timesteps.
#include "sample/noise_table.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace veneer::sample {
namespace {

constexpr double kLastTimestep = kTrainingSteps - 1;

// Stands for a cumulative alpha of 0, whose level would be infinite; the value other programs use.
constexpr double kSmallestAlpha = 4.8973451890853435e-08;

constexpr double kEdmScale = 250.0;
constexpr double kEdmSigmaMin = 0.002;
constexpr double kEdmSigmaMax = 120.0;

Error bad_alphas(const std::string& what) {
  return {ErrorCode::kBadFile, concat("alphas_cumprod: ", what, "; the model's noise schedule is damaged"),
          "alphas_cumprod"};
}

}  // namespace

Result<std::vector<double>> betas_named(std::string_view schedule, double start, double end) {
  const bool scaled = schedule == "scaled_linear";
  if (!scaled && schedule != "linear")
    return Error{ErrorCode::kUnsupported,
                 concat("beta_schedule: \"", schedule, "\" is not supported; linear and scaled_linear are"),
                 "beta_schedule"};
  if (!(start > 0 && start <= end && end < 1))
    return Error{ErrorCode::kBadFile,
                 concat("beta_schedule: expects 0 < beta_start <= beta_end < 1, found ", start, " and ", end),
                 "beta_schedule"};
  const double first = scaled ? std::sqrt(start) : start;
  const double last = scaled ? std::sqrt(end) : end;
  std::vector<double> betas(kTrainingSteps);
  for (size_t k = 0; k < betas.size(); ++k) {
    const double value = first + (last - first) * static_cast<double>(k) / kLastTimestep;
    betas[k] = scaled ? value * value : value;
  }
  return betas;
}

std::vector<double> cumulative_alphas(std::span<const double> betas) {
  std::vector<double> alphas;
  alphas.reserve(betas.size());
  double product = 1.0;
  for (const double beta : betas) alphas.push_back(product *= 1.0 - beta);
  return alphas;
}

std::vector<double> rescaled_to_zero_terminal_snr(std::span<const double> alphas_cumprod) {
  std::vector<double> alphas(alphas_cumprod.begin(), alphas_cumprod.end());
  if (alphas.size() < 2) return alphas;
  const double first = std::sqrt(alphas.front());
  const double last = std::sqrt(alphas.back());
  for (double& alpha : alphas) {
    const double root = (std::sqrt(alpha) - last) * first / (first - last);
    alpha = root * root;
  }
  return alphas;
}

double shifted_time(double u, double shift) { return shift * u / (1.0 + (shift - 1.0) * u); }

Result<NoiseTable> NoiseTable::from_alphas_cumprod(std::span<const double> alphas_cumprod) {
  if (alphas_cumprod.size() != kTrainingSteps)
    return bad_alphas(concat("expects ", kTrainingSteps, " values, found ", alphas_cumprod.size()));
  NoiseTable table(Kind::kTable, 1.0);
  table.log_sigmas_.reserve(kTrainingSteps);
  for (size_t k = 0; k < kTrainingSteps; ++k) {
    const bool is_last = k + 1 == kTrainingSteps;
    const double alpha = is_last && alphas_cumprod[k] == 0.0 ? kSmallestAlpha : alphas_cumprod[k];
    if (!(alpha > 0.0 && alpha < 1.0))
      return bad_alphas(concat("value ", k, " is ", alpha, ", expected one between 0 and 1"));
    const double level = static_cast<float>(std::sqrt((1.0 - alpha) / alpha));
    const double log_sigma = std::log(level);
    if (k > 0 && log_sigma <= table.log_sigmas_.back())
      return bad_alphas(concat("value ", k, " (", alpha, ") is not below the one before it"));
    table.log_sigmas_.push_back(log_sigma);
  }
  return table;
}

Result<NoiseTable> NoiseTable::flow(double shift) {
  if (!(shift > 0.0 && std::isfinite(shift)))
    return Error{ErrorCode::kUsage, concat("flow shift: expects a number above 0, found ", shift), "flow_shift"};
  return NoiseTable(Kind::kFlow, shift);
}

Result<NoiseTable> NoiseTable::flow_exponential(double mu) { return flow(std::exp(mu)); }

NoiseTable NoiseTable::edm() { return NoiseTable(Kind::kEdm, 1.0); }

double NoiseTable::sigma_min() const { return kind_ == Kind::kEdm ? kEdmSigmaMin : sigma(0.0); }

double NoiseTable::sigma_max() const { return kind_ == Kind::kEdm ? kEdmSigmaMax : sigma(kLastTimestep); }

double NoiseTable::sigma(double t) const {
  if (kind_ == Kind::kEdm) return std::exp(t / kEdmScale);
  t = std::clamp(t, 0.0, kLastTimestep);
  if (kind_ == Kind::kFlow) return shifted_time((t + 1.0) / kTrainingSteps, shift_);
  const double below = std::floor(t);
  const double weight = t - below;
  const double low = log_sigmas_[static_cast<size_t>(below)];
  const double high = log_sigmas_[static_cast<size_t>(std::ceil(t))];
  return std::exp((1.0 - weight) * low + weight * high);
}

double NoiseTable::timestep(double sigma) const {
  if (kind_ == Kind::kEdm) return kEdmScale * std::log(sigma);
  if (kind_ == Kind::kFlow) {
    const double u = shifted_time(sigma, 1.0 / shift_);
    return std::clamp(u * kTrainingSteps - 1.0, 0.0, kLastTimestep);
  }
  const double log_sigma = std::log(sigma);
  if (log_sigma <= log_sigmas_.front()) return 0.0;
  if (log_sigma >= log_sigmas_.back()) return kLastTimestep;
  const auto above = std::upper_bound(log_sigmas_.begin(), log_sigmas_.end(), log_sigma);
  const double low = *(above - 1);
  return static_cast<double>(above - 1 - log_sigmas_.begin()) + (log_sigma - low) / (*above - low);
}

int NoiseTable::nearest_timestep(double sigma_wanted) const {
  const double t = std::clamp(timestep(sigma_wanted), 0.0, kLastTimestep);
  const double below = std::floor(t);
  const double above = std::ceil(t);
  const bool take_below = std::abs(sigma(below) - sigma_wanted) <= std::abs(sigma(above) - sigma_wanted);
  return static_cast<int>(take_below ? below : above);
}

double NoiseTable::alpha_cumprod(int t) const {
  const double level = sigma(t);
  return 1.0 / (1.0 + level * level);
}

}  // namespace veneer::sample
