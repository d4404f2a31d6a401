// Denoisers with a known answer: the posterior mean of data 0.5 N(mu, sd^2) + 0.5 N(-mu, sd^2), element by element, and
// hooks around them that write down what a sampler does.
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "sample/noise_table.h"
#include "sample/random.h"
#include "sample/sampler.h"

namespace veneer::sample::toy {

struct Data {
  double mu = 0.0, sd = 0.3;  // mu 0: a single Gaussian
};

// For x = data + sigma e.
inline double denoise(double x, double sigma, const Data& data) {
  const double own = data.sd * data.sd;
  const double variance = own + sigma * sigma;
  return (own * x + sigma * sigma * data.mu * std::tanh(data.mu * x / variance)) / variance;
}

// For x = (1 - sigma) data + sigma e.
inline double denoise_flow(double x, double sigma, const Data& data) {
  const double share = 1.0 - sigma;
  const double own = data.sd * data.sd;
  const double variance = own * share * share + sigma * sigma;
  return (own * share * x + sigma * sigma * data.mu * std::tanh(data.mu * x * share / variance)) / variance;
}

// Hooks over a toy denoiser that record the calls. Outlives the run.
class Recorder {
 public:
  Recorder(const Data& data, bool flow) : data_(data), flow_(flow) {}

  std::vector<double> calls;               // the level of every model call
  int draws = 0;                           // of the generator
  std::vector<std::vector<float>> states;  // after every step
  std::vector<StepReport> reports;         // spans in them end with the run
  std::function<void(std::span<float>)> noise_source;
  Data uncond_data{0.5, 0.4};

  SamplerHooks hooks() {
    SamplerHooks hooks;
    hooks.denoise = [this](std::span<const float> x, double sigma) -> Result<Denoised> { return answer(x, sigma); };
    hooks.noise = [this](std::span<float> out) {
      ++draws;
      noise_source(out);
    };
    hooks.after_step = [this](const StepReport& report) -> Status {
      reports.push_back(report);
      if (report.step > 0) states.emplace_back(report.x.begin(), report.x.end());
      return {};
    };
    return hooks;
  }

 private:
  Denoised answer(std::span<const float> x, double sigma) {
    calls.push_back(sigma);
    fill(image_, x, sigma, data_);
    fill(uncond_, x, sigma, uncond_data);
    return {image_, uncond_};
  }
  void fill(std::vector<float>& out, std::span<const float> x, double sigma, const Data& data) const {
    out.resize(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      out[i] = static_cast<float>(flow_ ? denoise_flow(x[i], sigma, data) : denoise(x[i], sigma, data));
  }

  Data data_;
  bool flow_;
  std::vector<float> image_, uncond_;
};

inline NoiseTable sd1_table() {
  return *NoiseTable::from_alphas_cumprod(cumulative_alphas(*betas_named("scaled_linear", 0.00085, 0.012)));
}

}  // namespace veneer::sample::toy
