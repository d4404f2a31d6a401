// Guidance on raw outputs. Sums over an image are taken in float64.
#include "sample/guidance.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace veneer::sample {
namespace {

double dot(std::span<const double> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double squared_norm(auto values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

double deviation(std::span<const float> values) {
  double mean = 0;
  for (const double value : values) mean += value;
  mean /= static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// min(1, x), or with smoothing s the p-norm like x / (1 + x^(1/s))^s, which tends to it for s -> 0.
double limited(double x, double smoothing) {
  if (smoothing <= 0.0) return std::min(1.0, x);
  const double power = 1.0 / smoothing;
  if (x > 1.0) return std::pow(1.0 + std::pow(x, -power), -smoothing);  // the same, without overflow
  return x * std::pow(1.0 + std::pow(x, power), -smoothing);
}

}  // namespace

bool needs_uncond(double cfg, double image_cfg) { return cfg != 1.0 || image_cfg != 1.0; }

void combine_guidance(std::span<const float> cond, std::span<const float> uncond, double cfg, std::span<float> out) {
  VENEER_CHECK(cond.size() == uncond.size() && cond.size() == out.size());
  const float scale = static_cast<float>(cfg);
  for (size_t i = 0; i < out.size(); ++i) out[i] = uncond[i] + scale * (cond[i] - uncond[i]);
}

void combine_image_guidance(std::span<const float> cond, std::span<const float> uncond,
                            std::span<const float> image_uncond, double cfg, double image_cfg, std::span<float> out) {
  VENEER_CHECK(cond.size() == uncond.size() && cond.size() == image_uncond.size() && cond.size() == out.size());
  const float scale = static_cast<float>(cfg);
  const float image_scale = static_cast<float>(image_cfg);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = image_uncond[i] + image_scale * (uncond[i] - image_uncond[i]) + scale * (cond[i] - uncond[i]);
}

void rescale_guidance(std::span<const float> cond, double rescale, std::span<float> guided) {
  VENEER_CHECK(cond.size() == guided.size());
  const double guided_deviation = deviation(guided);
  if (rescale == 0.0 || guided_deviation == 0.0) return;
  const float factor = static_cast<float>(1.0 + rescale * (deviation(cond) / guided_deviation - 1.0));
  for (float& value : guided) value *= factor;
}

void Apg::combine(std::span<const float> cond, std::span<const float> uncond, double cfg, std::span<float> out) {
  VENEER_CHECK(cond.size() == uncond.size() && cond.size() == out.size());
  running_.resize(cond.size());
  for (size_t i = 0; i < cond.size(); ++i)
    running_[i] = static_cast<double>(cond[i]) - uncond[i] + options_.momentum * running_[i];
  const double norm = std::sqrt(squared_norm(std::span<const double>(running_)));
  const bool limit = options_.norm_threshold > 0.0 && norm > 0.0;
  const double length = limit ? limited(options_.norm_threshold / norm, options_.norm_threshold_smoothing) : 1.0;
  const double cond_squared = squared_norm(cond);
  const double parallel = cond_squared > 0.0 ? dot(running_, cond) / cond_squared : 0.0;
  // difference = orthogonal + parallel cond, so eta acts on a multiple of cond.
  const double along = (options_.eta - 1.0) * parallel;
  const double scale = (cfg - 1.0) * length;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(cond[i] + scale * (running_[i] + along * cond[i]));
}

Result<std::vector<double>> parse_guidance_schedule(std::string_view text) {
  constexpr int64_t kMaxSteps = 10000;
  std::vector<double> scales;
  for (const std::string& part : split(text, '+')) {
    const size_t times = part.find('x');
    double scale = 0;
    int64_t steps = 0;
    const bool readable = times != std::string::npos && parse_number(trim(part.substr(0, times)), scale) &&
                          parse_number(trim(part.substr(times + 1)), steps);
    if (!readable || scale < 0.0 || steps < 1 || static_cast<int64_t>(scales.size()) + steps > kMaxSteps)
      return Error{
          ErrorCode::kUsage,
          concat("guidance_schedule: expects scale x steps joined by +, for example 7x10+3x10 (scale 0 or more, ",
                 "at most ", kMaxSteps, " steps), found \"", part, "\""),
          "guidance_schedule"};
    scales.insert(scales.end(), static_cast<size_t>(steps), scale);
  }
  return scales;
}

GuidanceSchedule fit_guidance_schedule(std::span<const double> listed, int steps, double cfg) {
  const int count = static_cast<int>(listed.size());
  GuidanceSchedule schedule{{listed.begin(), listed.end()}, std::max(steps - count, 0), std::max(count - steps, 0)};
  schedule.scales.resize(static_cast<size_t>(steps), cfg);
  return schedule;
}

}  // namespace veneer::sample
