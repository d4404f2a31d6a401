// Model calls with guidance.
#include "pipeline/guided_denoiser.h"

#include <algorithm>

#include "core/format.h"
#include "pipeline/vision.h"

namespace veneer::pipeline {
namespace {

// The same on a dry device and on the real one: copies the result to `output` when there is one.
auto network_call(const model::Denoiser& denoiser, const model::Denoiser::Input& input, Tensor& output) {
  return [&denoiser, &input, &output](nn::Context& context) {
    const Tensor predicted = denoiser.forward(context, input);
    if (!context.measuring()) std::copy_n(predicted.f32(), predicted.elements(), output.f32());
  };
}

}  // namespace

GuidedDenoiser::GuidedDenoiser(const model::Denoiser& denoiser, Workplace& place, const ModelSettings& settings,
                               const DenoiseTerms& terms)
    : denoiser_(denoiser),
      place_(place),
      settings_(settings),
      terms_(terms),
      apg_(terms.guidance.apg),
      batch_(terms.conditioning.states.shape[0]),
      count_(static_cast<size_t>(terms.latent.elements())) {
  const int64_t height = terms.latent[1], width = terms.latent[2];
  input_.x = Tensor::zeros({batch_, height, width, denoiser.input_channels()});
  input_.context = terms.conditioning.states;
  output_ = Tensor::zeros({batch_, height, width, denoiser.latent_channels()});
  guided_.resize(count_);
  uncond_.resize(terms.guidance.keep_uncond ? count_ : 0);
  place_.prepare(network_call(denoiser_, input_, output_));
}

void GuidedDenoiser::run_network(const sample::Scalings& scalings, std::span<const float> x) {
  const auto scale = static_cast<float>(scalings.c_in);
  for (int64_t b = 0; b < batch_; ++b)
    std::transform(x.begin(), x.end(), input_.x.f32() + b * static_cast<int64_t>(count_),
                   [scale](float v) { return v * scale; });
  input_.timestep = static_cast<float>(scalings.timestep);
  place_.repeat(network_call(denoiser_, input_, output_));
}

void GuidedDenoiser::combine(std::span<const float> cond, std::span<const float> uncond) {
  const double cfg = terms_.guidance.scales[std::min(static_cast<size_t>(step_), terms_.guidance.scales.size() - 1)];
  if (batch_ == 1 || cfg == 1.0) {
    std::copy(cond.begin(), cond.end(), guided_.begin());
    return;
  }
  if (terms_.guidance.apg.active()) {
    apg_.combine(cond, uncond, cfg, guided_);
  } else {
    sample::combine_guidance(cond, uncond, cfg, guided_);
  }
  if (terms_.guidance.rescale > 0) sample::rescale_guidance(cond, terms_.guidance.rescale, guided_);
}

void GuidedDenoiser::protect(std::span<float> denoised) const {
  if (!terms_.protection) return;
  for (size_t i = 0; i < denoised.size(); ++i) {
    const float mask = terms_.protection->mask[i];
    denoised[i] = denoised[i] * mask + terms_.protection->original[i] * (1.0f - mask);
  }
}

Result<sample::Denoised> GuidedDenoiser::denoise(std::span<const float> x, double sigma) {
  VENEER_CHECK(x.size() == count_);
  const sample::Scalings scalings = sample::scalings_at(settings_.prediction, sigma, settings_.table);
  run_network(scalings, x);
  if (first_non_finite(output_.values()) >= 0) {
    const std::string weight = find_broken_weight(denoiser_);
    return Error{ErrorCode::kBadFile,
                 concat("denoiser: the prediction at sigma ", sigma, " has values that are not finite",
                        weight.empty() ? std::string() : ", as has its tensor " + weight),
                 weight.empty() ? "denoiser" : weight};
  }
  const std::span<const float> all = output_.values();
  const std::span<const float> cond = all.first(count_), uncond = all.last(count_);
  combine(cond, uncond);
  sample::to_denoised(scalings, x, guided_, guided_);
  protect(guided_);
  if (!uncond_.empty()) {
    sample::to_denoised(scalings, x, uncond, uncond_);
    protect(uncond_);
  }
  return sample::Denoised{guided_, uncond_};
}

size_t measure_denoise(const model::Denoiser& denoiser, int64_t batch, int64_t height, int64_t width, int64_t tokens) {
  const model::Denoiser::Input input{{{batch, height, width, denoiser.input_channels()}, DType::kF32, nullptr, nullptr},
                                     0.0f,
                                     {{batch, tokens, denoiser.context_width()}, DType::kF32, nullptr, nullptr}};
  return measure([&](nn::Context& context) { denoiser.forward(context, input); });
}

}  // namespace veneer::pipeline
