// Text plans of UNets.
#include "model/unet_text.h"

#include <algorithm>

namespace veneer::model {
namespace {

using io::Part;

constexpr int32_t kOpenClipPad = 0;

Condition only_states(const JoinInput& input) { return {input.texts[0].states, {}, {}}; }

// The pooled vector, then as many sinusoids as fill the denoiser's vector. They are 256 wide in published models.
Tensor with_numbers(const Tensor& pooled, std::span<const double> numbers, const Denoiser& denoiser) {
  const int64_t room = denoiser.vector_width() - pooled.shape.back();
  const Tensor places = sinusoids(numbers, std::max<int64_t>(room, 0) / static_cast<int64_t>(numbers.size()));
  Tensor vector = Tensor::zeros({1, pooled.shape.back() + places.shape.back()});
  std::copy_n(pooled.f32(), pooled.elements(), vector.f32());
  std::copy_n(places.f32(), places.elements(), vector.f32() + pooled.elements());
  return vector;
}

Condition join_sdxl(const JoinInput& input) {
  const auto height = static_cast<double>(input.height), width = static_cast<double>(input.width);
  const double numbers[] = {height, width, 0, 0, height, width};
  Tensor states = beside(input.texts[0].states, input.texts[1].states), pooled = input.texts[1].pooled;
  if (input.blank) {
    states = Tensor::zeros(states.shape);
    pooled = Tensor::zeros(pooled.shape);
  }
  return {states, {}, with_numbers(pooled, numbers, input.denoiser)};
}

Condition join_refiner(const JoinInput& input) {
  const auto height = static_cast<double>(input.height), width = static_cast<double>(input.width);
  const double numbers[] = {height, width, 0, 0, input.negative ? 2.5 : 6.0};
  return {input.texts[0].states, {}, with_numbers(input.texts[0].pooled, numbers, input.denoiser)};
}

constexpr TextUse kSd1Uses[] = {{.part = Part::kTextEncoder}};
constexpr TextUse kSd2Uses[] = {
    {.part = Part::kTextEncoder, .clip_skip = 2, .last_may_be_missing = true, .pad_id = kOpenClipPad}};
constexpr TextUse kSdxlUses[] = {{.part = Part::kTextEncoder, .clip_skip = 2, .final_norm = false},
                                 {.part = Part::kTextEncoder2,
                                  .clip_skip = 2,
                                  .final_norm = false,
                                  .pooled = ClipPooled::kProjected,
                                  .pad_id = kOpenClipPad}};
constexpr TextUse kRefinerUses[] = {{.part = Part::kTextEncoder2,
                                     .clip_skip = 2,
                                     .final_norm = false,
                                     .pooled = ClipPooled::kProjected,
                                     .pad_id = kOpenClipPad}};

}  // namespace

constexpr TextPlan kSd1Text{kSd1Uses, only_states};
constexpr TextPlan kSd2Text{kSd2Uses, only_states};
constexpr TextPlan kSdxlText{kSdxlUses, join_sdxl};
constexpr TextPlan kSdxlRefinerText{kRefinerUses, join_refiner};

}  // namespace veneer::model
