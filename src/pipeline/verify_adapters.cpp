// Measuring merges on several threads, and overlays on the engine thread.
#include "pipeline/verify_adapters.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "adapt/erasure.h"
#include "adapt/layer_programs.h"
#include "codec/form_of.h"
#include "device/devices.h"
#include "nn/adapted_rows.h"
#include "nn/product.h"
#include "pipeline/merge_changes.h"
#include "pipeline/workers.h"

namespace veneer::pipeline {
namespace {

constexpr int64_t kCheckedRows = 64;               // outputs of a layer that the overlay's product is judged by
constexpr size_t kArenaBytes = size_t{256} << 20;  // for one slice of a layer's product; pages not used cost nothing

// One layer of the report.
struct Row {
  const adapt::LayerPrograms* layer = nullptr;
  std::string type;  // into which merging was measured; empty: none
  std::optional<adapt::ErasureSums> merged;
  std::optional<adapt::AchievedSums> overlay;
};

bool is_product(const nn::Layer& layer) {
  return layer.kind == nn::LayerKind::kLinear || layer.kind == nn::LayerKind::kConv2d;
}

Status measure_merge(const std::optional<io::TargetType>& type, Row& row) {
  const codec::Weight& weight = row.layer->layer->weight;
  std::optional<codec::Form> form = codec::form_of(weight);
  row.type = form ? codec::form_name(weight) : "";
  if (type && !codec::stored_tensors(type->form, weight.shape).empty()) {
    form = type->form;
    row.type = type->name;
  }
  if (!form) return {};
  VENEER_TRY(sums, adapt::measure_erasure(*row.layer->layer, row.layer->programs, *form));
  row.merged = sums;
  return {};
}

// Random inputs: a few tokens, or an image just larger than the kernel.
Tensor inputs(const nn::Layer& layer) {
  const int64_t side = layer.kind == nn::LayerKind::kConv2d ? layer.kernel() + layer.geometry.stride : 0;
  Tensor x = Tensor::zeros(side > 0 ? Shape{1, side, side, layer.in()} : Shape{4, layer.in()});
  std::mt19937 generator(1);
  // The library's distributions differ between implementations; a sum of four uniform numbers is normal enough.
  for (float& value : x.values()) {
    value = -2;
    for (int i = 0; i < 4; ++i) value += static_cast<float>(generator()) * 0x1p-32f;
  }
  return x;
}

// One row of a convolution's weight, [in / groups, kh, kw], with the input under it; a linear layer is one pixel.
class Reference {
 public:
  Reference(const nn::Layer& layer, const Tensor& x) : layer_(layer), x_(x) {
    const bool image = x.shape.rank() == 4;
    height_ = image ? x.shape[1] : 1;
    width_ = image ? x.shape[2] : 1;
    out_height_ = image ? layer.geometry.out_height(height_, layer.kernel()) : x.shape[0];
    out_width_ = image ? layer.geometry.out_width(width_, layer.kernel()) : 1;
  }

  int64_t pixels() const { return out_height_ * out_width_; }

  double product(const double* row, int64_t output, int64_t pixel) const {
    if (x_.shape.rank() != 4) return linear(row, pixel);
    const auto& geometry = layer_.geometry;
    const int64_t kernel = layer_.kernel(), channels = layer_.in() / geometry.groups;
    const int64_t first = output / (layer_.out() / geometry.groups) * channels;
    double sum = 0;
    for (int64_t ky = 0; ky < kernel; ++ky)
      for (int64_t kx = 0; kx < kernel; ++kx) {
        const int64_t y = pixel / out_width_ * geometry.stride + ky - geometry.pad_top;
        const int64_t x = pixel % out_width_ * geometry.stride + kx - geometry.pad_left;
        if (y < 0 || x < 0 || y >= height_ || x >= width_) continue;
        const float* under = x_.f32() + (y * width_ + x) * layer_.in() + first;
        for (int64_t i = 0; i < channels; ++i) sum += row[(i * kernel + ky) * kernel + kx] * under[i];
      }
    return sum;
  }

 private:
  double linear(const double* row, int64_t token) const {
    const float* x = x_.f32() + token * layer_.in();
    double sum = 0;
    for (int64_t i = 0; i < layer_.in(); ++i) sum += row[i] * x[i];
    return sum;
  }

  const nn::Layer& layer_;
  const Tensor& x_;
  int64_t height_, width_, out_height_, out_width_;
};

class OverlayCheck {
 public:
  explicit OverlayCheck(device::Device& device) : device_(device), arena_(kArenaBytes) {}

  adapt::AchievedSums measure(const adapt::LayerPrograms& programs) {
    const nn::Layer& layer = *programs.layer;
    nn::OverlaySet overlays(static_cast<size_t>(layer.id) + 1);
    overlays.back() = nn::make_overlay(layer, programs.programs, {});
    const Tensor x = inputs(layer);
    const Tensor plain = run(layer, x, nullptr), adapted = run(layer, x, &overlays);

    const int64_t rows = std::min(layer.out(), kCheckedRows), width = layer.weight.row_values();
    std::vector<double> change = nn::adapted_rows(layer, programs.programs, 0, rows);
    std::vector<float> base(change.size());
    layer.weight.decode_rows(0, rows, base.data());
    for (size_t i = 0; i < change.size(); ++i) change[i] -= base[i];
    const std::vector<double> bias = nn::adapted_vector(layer, programs.programs, nn::Vector::Of::kBias);

    const Reference reference(layer, x);
    adapt::AchievedSums sums;
    for (int64_t pixel = 0; pixel < reference.pixels(); ++pixel)
      for (int64_t row = 0; row < rows; ++row) {
        const auto at = pixel * layer.out() + row;
        const double old_bias = layer.bias.empty() ? 0 : layer.bias[static_cast<size_t>(row)];
        const double wanted =
            reference.product(change.data() + row * width, row, pixel) + bias[static_cast<size_t>(row)] - old_bias;
        sums.add(0, wanted, static_cast<double>(adapted.f32()[at]) - plain.f32()[at]);
      }
    return sums;
  }

 private:
  Tensor run(const nn::Layer& layer, const Tensor& x, const nn::OverlaySet* overlays) {
    nn::PanelCache panels(0);
    nn::Context context{device_, arena_, panels, overlays};
    return (layer.kind == nn::LayerKind::kLinear ? nn::linear(context, layer, x) : nn::conv2d(context, layer, x))
        .clone();
  }

  device::Device& device_;
  device::Arena arena_;
};

Json figures(const adapt::Achieved& achieved) { return {{"survival", achieved.survival}, {"error", achieved.error}}; }

Json figures(const std::optional<adapt::Achieved>& achieved) { return achieved ? figures(*achieved) : Json(); }

Json row_json(const Row& row) {
  return {{"layer", row.layer->layer->name},
          {"held", codec::form_name(row.layer->layer->weight)},
          {"type", row.type.empty() ? Json() : Json(row.type)},
          {"rho", row.merged ? Json(row.merged->rho()) : Json()},
          {"merged", row.merged ? figures(row.merged->measured.result()) : Json()},
          {"predicted", row.merged ? figures(row.merged->predicted()) : Json()},
          {"overlay", row.overlay ? figures(row.overlay->result()) : Json()}};
}

Json report(const std::optional<io::TargetType>& type, const std::vector<Row>& rows) {
  Json layers = Json::array();
  adapt::ErasureSums merged;
  adapt::AchievedSums overlay;
  for (const Row& row : rows) {
    layers.push_back(row_json(row));
    if (row.merged) merged.add(*row.merged);
    if (row.overlay) overlay.add(*row.overlay);
  }
  return {{"type", type ? Json(type->name) : Json()},
          {"layers", std::move(layers)},
          {"total",
           {{"layers", rows.size()},
            {"rho", merged.rho()},
            {"merged", figures(merged.measured.result())},
            {"predicted", figures(merged.predicted())},
            {"overlay", figures(overlay.result())}}}};
}

}  // namespace

Result<Json> verify_adapters(AdaptedModel& model, std::span<const adapt::StackEntry> entries,
                             const std::optional<io::TargetType>& type, int threads) {
  VENEER_TRY(programs, adapt::layer_programs(adapt::canonical(entries, adapt::Combine::kSum), adapt::Combine::kSum));
  std::vector<Row> rows;
  for (const adapt::LayerPrograms& layer : programs)
    if (changes_weight(layer)) rows.push_back({&layer, {}, std::nullopt, std::nullopt});
  VENEER_TRY_STATUS(on_threads(threads, rows.size(), [&](size_t i) { return measure_merge(type, rows[i]); }));
  VENEER_TRY(device, device::open_device("", model.engine().threads(), false));
  model.engine().run([&] {
    OverlayCheck check(*device);
    for (Row& row : rows)
      if (is_product(*row.layer->layer)) row.overlay = check.measure(*row.layer);
  });
  return report(type, rows);
}

}  // namespace veneer::pipeline
