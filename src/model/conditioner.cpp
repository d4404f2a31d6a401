// What joins are made of, and the sizes of their results.
#include "model/conditioner.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace veneer::model {
namespace {

// Copies the rows of `from` into those of `to`, from column `column` on.
void copy_rows(const Tensor& from, Tensor& to, int64_t row, int64_t column) {
  const int64_t width = from.shape.back(), stride = to.shape.back();
  for (int64_t i = 0; i < from.shape[1]; ++i)
    std::copy_n(from.f32() + i * width, width, to.f32() + (row + i) * stride + column);
}

}  // namespace

Tensor beside(const Tensor& a, const Tensor& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Tensor out = Tensor::zeros({1, std::max(a.shape[1], b.shape[1]), a.shape.back() + b.shape.back()});
  copy_rows(a, out, 0, 0);
  copy_rows(b, out, 0, a.shape.back());
  return out;
}

Tensor behind(const Tensor& a, const Tensor& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Tensor out = Tensor::zeros({1, a.shape[1] + b.shape[1], std::max(a.shape.back(), b.shape.back())});
  copy_rows(a, out, 0, 0);
  copy_rows(b, out, a.shape[1], 0);
  return out;
}

Tensor sinusoids(std::span<const double> values, int64_t width) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t half = width / 2;
  Tensor out = Tensor::zeros({1, count * width});
  for (int64_t v = 0; v < count; ++v)
    for (int64_t i = 0; i < half; ++i) {
      const double frequency = std::exp(-std::log(10000.0) * static_cast<double>(i) / static_cast<double>(half));
      const double angle = values[static_cast<size_t>(v)] * frequency;
      out.f32()[v * width + i] = static_cast<float>(std::cos(angle));
      out.f32()[v * width + half + i] = static_cast<float>(std::sin(angle));
    }
  return out;
}

Condition blank_condition(const TextPlan& plan, const TextEncoders& encoders, const Denoiser& denoiser,
                          std::span<const int64_t> tokens) {
  std::vector<EncodedText> texts;
  for (size_t i = 0; i < plan.uses.size(); ++i) {
    const TextUse& use = plan.uses[i];
    EncodedText& text = texts.emplace_back();
    const auto found = encoders.find(use.part);
    if (found == encoders.end()) continue;
    const TextEncoder& encoder = *found->second;
    text.states = Tensor::zeros({1, tokens[i], encoder.width()});
    if (use.pooled != ClipPooled::kNone) text.pooled = Tensor::zeros({1, encoder.pooled_width()});
    if (use.masked) text.mask = Tensor::zeros({1, tokens[i]});
  }
  return plan.join({.texts = texts, .denoiser = denoiser});
}

int64_t layers_left_out(const TextUse& use, const TextEncoder& encoder, int asked) {
  const int64_t skip = (asked > 0 ? asked : use.clip_skip) - 1;
  // A whole encoder can be told by its projection; published ones without it have 24 layers.
  constexpr int64_t kWhole = 24;
  const bool missing = use.last_may_be_missing && encoder.pooled_width() == 0 && encoder.depth() != kWhole;
  return std::clamp<int64_t>(skip - (missing ? 1 : 0), 0, encoder.depth());
}

}  // namespace veneer::model
