// Tiles: where they lie and how they are blended.
#include "pipeline/tiles.h"

#include <algorithm>
#include <cmath>

namespace veneer::pipeline {
namespace {

constexpr int64_t kSmallestTile = 8;

int64_t tile_length(int64_t fixed, double relative, int64_t length) {
  if (relative <= 0) return fixed;
  const double share = relative > 1 ? 1.0 / relative : relative;  // a number of tiles, or a share of the whole
  return std::max(kSmallestTile, static_cast<int64_t>(std::ceil(static_cast<double>(length) * share)));
}

// Weights of the samples of tile `index` along one axis, `scale` samples a latent pixel.
std::vector<float> weights_of(const TileAxis& axis, size_t index, int64_t scale, std::optional<int64_t> reach) {
  std::vector<float> weights(static_cast<size_t>(axis.tile * scale), 1.0f);
  const auto fade = [&](int64_t overlap, bool at_front) {
    const double samples = static_cast<double>(overlap * scale);
    const double margin = std::min(static_cast<double>(reach.value_or(0) * scale), samples / 2);
    const double ramp = std::max(samples - 2 * margin, 1e-6);  // nothing left to blend: a step in the middle
    for (size_t i = 0; i < std::min(weights.size(), static_cast<size_t>(overlap * scale)); ++i) {
      const double distance = static_cast<double>(i) + 0.5;
      float& weight = weights[at_front ? i : weights.size() - 1 - i];
      weight = std::min(weight, static_cast<float>(std::clamp((distance - margin) / ramp, 0.0, 1.0)));
    }
  };
  if (index > 0) fade(axis.starts[index - 1] + axis.tile - axis.starts[index], true);
  if (index + 1 < axis.starts.size()) fade(axis.starts[index] + axis.tile - axis.starts[index + 1], false);
  return weights;
}

}  // namespace

TileAxis plan_axis(int64_t length, int64_t tile, double overlap) {
  TileAxis axis{length, std::min(tile, length), {}};
  const auto shared = static_cast<int64_t>(std::ceil(static_cast<double>(axis.tile) * overlap));
  const int64_t step = std::max<int64_t>(axis.tile - shared, 1);
  const int64_t count = axis.tile == length ? 1 : (length - axis.tile + step - 1) / step + 1;
  for (int64_t i = 0; i < count; ++i) axis.starts.push_back(count == 1 ? 0 : (length - axis.tile) * i / (count - 1));
  return axis;
}

TilePlan plan_tiles(const TilingOptions& options, int64_t height, int64_t width, bool encode) {
  if (!options.enabled) return {plan_axis(height, height, 0), plan_axis(width, width, 0)};
  const int64_t factor = encode ? 2 : 1;
  return {
      plan_axis(height, factor * tile_length(options.tile_height, options.relative_height, height), options.overlap),
      plan_axis(width, factor * tile_length(options.tile_width, options.relative_width, width), options.overlap)};
}

Result<Tensor> run_tiles(const TilePlan& plan, int64_t scale, int64_t channels, std::optional<int64_t> reach,
                         const std::function<Result<Tensor>(int64_t y, int64_t x)>& work) {
  if (plan.is_whole()) return work(0, 0);
  const int64_t height = plan.y.length * scale, width = plan.x.length * scale;
  Tensor sum = Tensor::zeros({1, height, width, channels});
  Tensor total = Tensor::zeros({height, width});
  for (size_t row = 0; row < plan.y.starts.size(); ++row) {
    const std::vector<float> down = weights_of(plan.y, row, scale, reach);
    for (size_t column = 0; column < plan.x.starts.size(); ++column) {
      const std::vector<float> across = weights_of(plan.x, column, scale, reach);
      VENEER_TRY(tile, work(plan.y.starts[row], plan.x.starts[column]));
      const int64_t top = plan.y.starts[row] * scale, left = plan.x.starts[column] * scale;
      const float* in = tile.f32();
      for (size_t y = 0; y < down.size(); ++y) {
        for (size_t x = 0; x < across.size(); ++x, in += channels) {
          const float weight = down[y] * across[x];
          const int64_t pixel = (top + static_cast<int64_t>(y)) * width + left + static_cast<int64_t>(x);
          total.f32()[pixel] += weight;
          for (int64_t c = 0; c < channels; ++c) sum.f32()[pixel * channels + c] += weight * in[c];
        }
      }
    }
  }
  for (int64_t pixel = 0; pixel < height * width; ++pixel)
    for (int64_t c = 0; c < channels; ++c) sum.f32()[pixel * channels + c] /= total.f32()[pixel];
  return sum;
}

}  // namespace veneer::pipeline
