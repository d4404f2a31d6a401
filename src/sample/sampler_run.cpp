// The loop around a solver's step, and the pieces steps are made of.
#include "sample/sampler_run.h"

#include <algorithm>
#include <cmath>

namespace veneer::sample {
namespace {

// k-diffusion's ancestral step: up^2 + down^2 = next^2.
NoiseSplit ancestral(double sigma, double next, double eta) {
  const double ratio = next / sigma;
  const double up = std::min(next, eta * next * std::sqrt(std::max(1.0 - ratio * ratio, 0.0)));
  return {std::sqrt(std::max(next * next - up * up, 0.0)), up, 1.0};
}

// For x = (1 - sigma) image + sigma noise: after going down, the image's share is brought to 1 - next by `keep`, and
// noise fills up to next.
NoiseSplit ancestral_flow(double sigma, double next, double eta) {
  const double down = next * (1.0 + (next / sigma - 1.0) * std::min(eta, 1.0));
  const double keep = (1.0 - next) / (1.0 - down);
  const double left = down * keep;
  return {down, std::sqrt(std::max(next * next - left * left, 0.0)), keep};
}

}  // namespace

void combine(std::span<float> out, std::initializer_list<Term> terms) {
  for (size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const Term& term : terms) sum += term.weight * term.values[i];
    out[i] = static_cast<float>(sum);
  }
}

SamplerRun::SamplerRun(const Sampler& sampler, const SamplerInput& input, const SamplerHooks& hooks,
                       std::span<float> state)
    : x(state),
      sampler_(sampler),
      input_(input),
      hooks_(hooks),
      denoised_(state.size()),
      midpoint_(state.size()),
      noise_(state.size()),
      history_(sampler.history, std::vector<float>(state.size())) {}

Status SamplerRun::walk() {
  VENEER_TRY_STATUS(report(0, {}));
  for (int i = 0; i < steps(); ++i) {
    VENEER_TRY_STATUS(begin_step(i));
    VENEER_TRY_STATUS(sampler_.step(*this));
    VENEER_TRY_STATUS(report(i + 1, denoised_));
  }
  return {};
}

Status SamplerRun::begin_step(int i) {
  index = i;
  sigma = sigma_at(i);
  next = sigma_at(i + 1);
  VENEER_TRY(answer, call_model(x, sigma));
  std::copy(answer.image.begin(), answer.image.end(), denoised_.begin());
  uncond_ = answer.uncond;
  VENEER_CHECK(!sampler_.needs_uncond || uncond_.size() == x.size());
  remember();
  return {};
}

Status SamplerRun::report(int finished, std::span<const float> denoised) const {
  if (!hooks_.after_step) return {};
  return hooks_.after_step({finished, steps(), input_.sigmas[static_cast<size_t>(finished)], x, denoised});
}

Result<Denoised> SamplerRun::call_model(std::span<const float> state, double level) {
  if (hooks_.check_cancel) VENEER_TRY_STATUS(hooks_.check_cancel());
  VENEER_TRY(answer, hooks_.denoise(state, level));
  VENEER_CHECK(answer.image.size() == x.size());
  return answer;
}

Result<std::span<const float>> SamplerRun::denoise(std::span<const float> state, double level) {
  VENEER_TRY(answer, call_model(state, level));
  return answer.image;
}

void SamplerRun::remember() {
  if (sampler_.keep == Sampler::Keep::kNothing) return;
  const std::span<float> slot = history_[static_cast<size_t>(index) % history_.size()];
  if (sampler_.keep == Sampler::Keep::kDenoised) {
    std::copy(denoised_.begin(), denoised_.end(), slot.begin());
  } else {
    combine(slot, {{1.0 / sigma, x}, {-1.0 / sigma, denoised_}});
  }
}

std::span<const float> SamplerRun::past(int steps_ago) const {
  const size_t size = history_.size();
  return history_[(static_cast<size_t>(index) + size - static_cast<size_t>(steps_ago)) % size];
}

int SamplerRun::kept() const { return std::min(index + 1, static_cast<int>(history_.size())); }

SignalLevel SamplerRun::level(int i) const {
  constexpr double kLeast = 1e-6;
  if (!is_flow()) return {std::max(sigma_at(i), kLeast), 1.0};
  const double clamped = std::clamp(sigma_at(i), kLeast, 1.0 - 1e-4);
  return {clamped / (1.0 - clamped), 1.0 - clamped};
}

NoiseSplit SamplerRun::split(int i) const {
  const auto split_of = is_flow() ? ancestral_flow : ancestral;
  return split_of(sigma_at(i), sigma_at(i + 1), eta());
}

std::span<float> SamplerRun::draw() {
  if (!sampler_.brownian) {
    hooks_.noise(noise_);
    return noise_;
  }
  if (!tree_) {
    // Over [0, sigma_0], not from the last level up: the path is then the same for every number of steps.
    std::vector<float> second(x.size());
    hooks_.noise(noise_);
    hooks_.noise(second);
    tree_.emplace(sigma_at(0), noise_, second);
  }
  tree_->increment(sigma, next, noise_);
  return noise_;
}

void SamplerRun::add_noise(double up, double keep) {
  if (up > 0.0) combine(x, {{keep, x}, {up, draw()}});
}

void SamplerRun::move_toward(std::span<const float> target, double ratio) {
  combine(x, {{ratio, x}, {1.0 - ratio, target}});
}

}  // namespace veneer::sample
