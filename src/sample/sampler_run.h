// What the function of a solver's step works with: the levels, the state, remembered vectors, further model calls and
// noise. Private to the solvers. A step function is stateless; all it needs from earlier steps is kept here.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "sample/brownian.h"
#include "sample/sampler.h"

namespace veneer::sample {

struct Term {
  double weight;
  std::span<const float> values;
};
// out = sum of weight * values, summed in float64 and rounded once; `out` may be among the values.
void combine(std::span<float> out, std::initializer_list<Term> terms);

// A step to `next` that goes down to a lower level first and then adds fresh noise: x = keep x + up e.
struct NoiseSplit {
  double down, up, keep;
};

// A level as the signal sees it: x = alpha (image + lambda e). alpha is 1 and lambda sigma for eps and v models.
struct SignalLevel {
  double lambda, alpha;
};

class SamplerRun {
 public:
  SamplerRun(const Sampler& sampler, const SamplerInput& input, const SamplerHooks& hooks, std::span<float> state);

  Status walk();

  // The step.
  std::span<float> x;
  int index = 0;                                                 // i
  double sigma = 0;                                              // sigma_i
  double next = 0;                                               // sigma_{i+1}
  std::span<const float> denoised() const { return denoised_; }  // D(x, sigma)
  std::span<const float> uncond() const { return uncond_; }      // valid until the next denoise()

  // The run.
  double eta() const { return input_.eta; }
  bool is_flow() const { return input_.table.is_flow(); }
  int steps() const { return static_cast<int>(input_.sigmas.size()) - 1; }
  double sigma_at(int i) const { return input_.sigmas[static_cast<size_t>(i)]; }
  // Level i, kept off the ends where lambda is 0 or infinite.
  SignalLevel level(int i) const;
  const NoiseTable& table() const { return input_.table; }
  const SamplerOptions& options() const { return input_.options; }

  // The vector kept `steps_ago` steps ago (0: this step's); zeros if there was none.
  std::span<const float> past(int steps_ago) const;
  int kept() const;  // how many there are, this step's included

  // For solvers that call the model at a point in between: a buffer, and the call.
  std::span<float> midpoint() { return midpoint_; }
  Result<std::span<const float>> denoise(std::span<const float> state, double level);

  // Step i split by eta. down = next and up = 0 if eta is 0.
  NoiseSplit split(int i) const;
  NoiseSplit split() const { return split(index); }
  // The noise of this step, in a buffer the caller may change.
  std::span<float> draw();
  // x = keep x + up e; draws nothing if `up` is 0.
  void add_noise(double up, double keep = 1.0);
  void add_noise(const NoiseSplit& split) { add_noise(split.up, split.keep); }

  // x = ratio x + (1 - ratio) target: along the line from the state to a denoised image, where the noise left is
  // `ratio` of what it was.
  void move_toward(std::span<const float> target, double ratio);

 private:
  Result<Denoised> call_model(std::span<const float> state, double level);
  Status begin_step(int i);
  Status report(int finished, std::span<const float> denoised) const;
  void remember();

  const Sampler& sampler_;
  const SamplerInput& input_;
  const SamplerHooks& hooks_;
  std::vector<float> denoised_, midpoint_, noise_;
  std::span<const float> uncond_;
  std::vector<std::vector<float>> history_;  // a ring
  std::optional<BrownianTree> tree_;
};

}  // namespace veneer::sample
