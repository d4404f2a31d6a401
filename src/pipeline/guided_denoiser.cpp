// Model calls with guidance.
#include "pipeline/guided_denoiser.h"

#include <algorithm>

#include "core/format.h"
#include "pipeline/vision.h"

namespace veneer::pipeline {
namespace {

// The same on a dry device and on the real one: copies the result to `output` when there is one.
auto network_call(const model::Denoiser& denoiser, const model::Denoiser::Input& input, nn::KeptProducts& kept,
                  Tensor& output) {
  return [&denoiser, &input, &kept, &output](nn::Context& context) {
    context.kept = &kept;
    const Tensor predicted = denoiser.forward(context, input);
    if (!context.measuring()) std::copy_n(predicted.f32(), predicted.elements(), output.f32());
  };
}

// One tensor of each condition, one after another: [conditions, ...].
Tensor stacked(std::span<const model::Condition* const> conditions, Tensor model::Condition::*member) {
  const Tensor& first = conditions.front()->*member;
  if (first.empty()) return {};
  Shape shape = first.shape;
  shape[0] = static_cast<int64_t>(conditions.size());
  Tensor out = Tensor::zeros(shape);
  for (size_t i = 0; i < conditions.size(); ++i) {
    const Tensor& one = conditions[i]->*member;
    VENEER_CHECK(one.shape == first.shape);
    std::copy_n(one.f32(), one.elements(), out.f32() + static_cast<int64_t>(i) * one.elements());
  }
  return out;
}

// The input of a model call but for what changes from call to call.
model::Denoiser::Input input_for(const model::Denoiser& denoiser, std::span<const model::Condition* const> conditions,
                                 int64_t height, int64_t width) {
  return {Tensor::zeros({static_cast<int64_t>(conditions.size()), height, width, denoiser.input_channels()}), 0.0f,
          stacked(conditions, &model::Condition::states), stacked(conditions, &model::Condition::mask),
          stacked(conditions, &model::Condition::vector)};
}

std::vector<const model::Condition*> branches_of(const DenoiseTerms& terms) {
  std::vector<const model::Condition*> branches{&terms.conditioning.prompt};
  if (!terms.conditioning.negative) return branches;
  branches.push_back(&*terms.conditioning.negative);
  if (terms.guidance.image_scale) branches.push_back(&*terms.conditioning.negative);
  return branches;
}

}  // namespace

GuidedDenoiser::GuidedDenoiser(const model::Denoiser& denoiser, Workplace& place, const ModelSettings& settings,
                               const DenoiseTerms& terms)
    : denoiser_(denoiser),
      place_(place),
      settings_(settings),
      terms_(terms),
      apg_(terms.guidance.apg),
      count_(static_cast<size_t>(terms.latent.elements())) {
  const std::vector<const model::Condition*> branches = branches_of(terms);
  branches_ = static_cast<int>(branches.size());
  const int64_t height = terms.latent[1], width = terms.latent[2];
  input_ = input_for(denoiser, branches, height, width);
  input_.guidance = static_cast<float>(terms.guidance.embedded);
  output_ = Tensor::zeros({branches_, height, width, denoiser.latent_channels()});
  guided_.resize(count_);
  uncond_.resize(terms.guidance.keep_uncond ? count_ : 0);
  place_.prepare(network_call(denoiser_, input_, kept_, output_));
}

void GuidedDenoiser::run_network(const sample::Scalings& scalings, std::span<const float> x) {
  const auto scale = static_cast<float>(scalings.c_in);
  const int64_t channels = terms_.latent[3], pixels = terms_.latent[1] * terms_.latent[2];
  const int64_t more = input_.x.shape[3] - channels;
  float* to = input_.x.f32();
  for (int branch = 0; branch < branches_; ++branch) {
    for (int64_t p = 0; p < pixels; ++p) {
      const float* from = x.data() + p * channels;
      to = std::transform(from, from + channels, to, [scale](float v) { return v * scale; });
      if (more > 0 && branch < 2) std::copy_n(terms_.picture.f32() + p * more, more, to);
      to += more;
    }
  }
  input_.timestep = static_cast<float>(scalings.timestep);
  place_.repeat(network_call(denoiser_, input_, kept_, output_));
}

std::span<const float> GuidedDenoiser::prediction(int branch) const {
  return output_.values().subspan(static_cast<size_t>(branch) * count_, count_);
}

void GuidedDenoiser::combine() {
  const Guidance& guidance = terms_.guidance;
  const double cfg = guidance.scales[std::min(static_cast<size_t>(step_), guidance.scales.size() - 1)];
  const std::span<const float> cond = prediction(0);
  if (branches_ == 1 || !sample::needs_uncond(cfg, guidance.image_scale.value_or(1.0))) {
    std::copy(cond.begin(), cond.end(), guided_.begin());
    return;
  }
  const std::span<const float> uncond = prediction(1);
  if (guidance.image_scale) {
    sample::combine_image_guidance(cond, uncond, prediction(2), cfg, *guidance.image_scale, guided_);
  } else if (guidance.apg.active()) {
    apg_.combine(cond, uncond, cfg, guided_);
  } else {
    sample::combine_guidance(cond, uncond, cfg, guided_);
  }
  if (guidance.rescale > 0) sample::rescale_guidance(cond, guidance.rescale, guided_);
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
  combine();
  sample::to_denoised(scalings, x, guided_, guided_);
  protect(guided_);
  if (!uncond_.empty()) {
    sample::to_denoised(scalings, x, prediction(1), uncond_);
    protect(uncond_);
  }
  return sample::Denoised{guided_, uncond_};
}

Footprint measure_denoise(const model::Denoiser& denoiser, const model::Condition& condition, int branches,
                          int64_t height, int64_t width, const nn::OverlaySet* overlays) {
  const std::vector<const model::Condition*> conditions(static_cast<size_t>(branches), &condition);
  const model::Denoiser::Input input = input_for(denoiser, conditions, height, width);
  return measure([&](nn::Context& context) { denoiser.forward(context, input); }, overlays);
}

}  // namespace veneer::pipeline
