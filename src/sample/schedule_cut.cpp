// Levels that come from the user, and the parts of a schedule that image to image and the second pass run.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "sample/schedule.h"

namespace veneer::sample {
namespace {

Error usage(const std::string& message, const char* where) { return {ErrorCode::kUsage, message, where}; }

int steps_of(std::span<const float> sigmas) { return static_cast<int>(sigmas.size()) - 1; }

}  // namespace

Result<std::vector<double>> parse_sigmas(std::string_view text) {
  std::vector<double> sigmas;
  for (const std::string& part : split(text, ',')) {
    double value = 0;
    if (!parse_number(trim(part), value))
      return usage(concat("sigmas: expects numbers joined by commas, found \"", part, "\""), "sigmas");
    sigmas.push_back(value);
  }
  return sigmas;
}

Result<std::vector<float>> custom_sigmas(std::span<const double> sigmas, bool flow) {
  if (sigmas.size() < 2) return usage("sigmas: expects at least two levels, for example 14.6,3.2,0", "sigmas");
  std::vector<float> levels;
  for (const double sigma : sigmas) {
    const float level = static_cast<float>(sigma);
    if (!std::isfinite(level) || level < 0.0f)
      return usage(concat("sigmas: expects levels of 0 or more, found ", sigma), "sigmas");
    if (!levels.empty() && level >= levels.back())
      return usage(
          concat("sigmas: each level must be below the one before it, found ", sigma, " after ", levels.back()),
          "sigmas");
    levels.push_back(level);
  }
  if (flow && levels.front() > 1.0f)
    return usage(concat("sigmas: levels of a flow model are at most 1, found ", levels.front()), "sigmas");
  return levels;
}

Result<std::vector<float>> sigmas_for_strength(std::span<const float> sigmas, double strength) {
  if (!(strength >= 0.0 && strength <= 1.0))
    return usage(concat("strength: expects 0 to 1, found ", strength), "strength");
  return last_steps(sigmas, static_cast<int>(steps_of(sigmas) * strength) + 1);
}

Result<std::vector<float>> sigmas_from_noise_level(std::span<const float> sigmas, double strength, bool force_first) {
  if (!(strength > 0.0 && strength <= 1.0))
    return usage(concat("strength: as a noise level expects more than 0 and at most 1, found ", strength), "strength");
  const float level = static_cast<float>(strength * sigmas.front());
  const auto first_kept = std::find_if(sigmas.begin(), sigmas.end(), [&](float sigma) { return sigma <= level; });
  std::vector<float> kept(first_kept, sigmas.end());
  if (force_first && !kept.empty() && kept.front() < level) kept.insert(kept.begin(), level);
  return kept.size() < 2 ? last_steps(sigmas, 1) : kept;
}

Result<int> hires_schedule_steps(int steps, double strength) {
  if (steps < 1) return usage(concat("hires steps: expects at least 1, found ", steps), "hires_steps");
  if (!(strength > 0.0 && strength <= 1.0))
    return usage(concat("hires denoising strength: expects more than 0 and at most 1, found ", strength),
                 "hires_denoising_strength");
  const double wanted = steps / strength;
  constexpr double kMost = 1e6;  // make_sigmas refuses it with the number; here it only has to fit
  return static_cast<int>(std::min(wanted, kMost));
}

std::vector<float> last_steps(std::span<const float> sigmas, int steps) {
  const int kept = std::clamp(steps, 0, steps_of(sigmas));
  const std::span<const float> tail = sigmas.last(static_cast<size_t>(kept) + 1);
  return {tail.begin(), tail.end()};
}

}  // namespace veneer::sample
