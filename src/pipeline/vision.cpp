// Encoding and decoding of pictures.
#include "pipeline/vision.h"

#include <algorithm>

#include "core/format.h"
#include "pipeline/tiles.h"

namespace veneer::pipeline {
namespace {

// A piece [1, rows, columns, channels] of a map, copied.
Tensor cut(const Tensor& map, int64_t top, int64_t left, int64_t rows, int64_t columns) {
  const int64_t width = map.shape[2], channels = map.shape[3];
  Tensor piece = Tensor::zeros({1, rows, columns, channels});
  for (int64_t y = 0; y < rows; ++y)
    std::copy_n(map.f32() + ((top + y) * width + left) * channels, columns * channels,
                piece.f32() + y * columns * channels);
  return piece;
}

Error not_finite(const model::Network& network, std::string_view what) {
  const std::string weight = find_broken_weight(network);
  return {ErrorCode::kBadFile,
          concat(what, ": the result has values that are not finite",
                 weight.empty() ? std::string("; the latents are out of the range it was trained for")
                                : ", as has its tensor " + weight),
          weight.empty() ? std::string(what) : weight};
}

}  // namespace

std::string find_broken_weight(const model::Network& network) {
  for (const nn::Layer& layer : network.layers().all()) {
    if (first_non_finite(layer.weight.decode_all()) >= 0) return layer.weight.name;
    if (first_non_finite(layer.bias) >= 0) return layer.name + ".bias";
  }
  return {};
}

Result<Tensor> decode_latents(const model::Autoencoder& autoencoder, Workplace& place, const Tensor& latents,
                              const TilingOptions& tiling, const TileProgress& progress) {
  const TilePlan plan = plan_tiles(tiling, latents.shape[1], latents.shape[2], false);
  int done = 0;
  Tensor piece = cut(latents, 0, 0, plan.y.tile, plan.x.tile);
  Tensor decoded = Tensor::zeros({1, plan.y.tile * autoencoder.factor(), plan.x.tile * autoencoder.factor(), 3});
  const auto work = [&](nn::Context& context) {
    const Tensor out = autoencoder.decode(context, piece);
    if (!context.measuring()) std::copy_n(out.f32(), out.elements(), decoded.f32());
  };
  place.prepare(work);
  auto picture =
      run_tiles(plan, autoencoder.factor(), 3, autoencoder.reach(), [&](int64_t y, int64_t x) -> Result<Tensor> {
        VENEER_TRY_STATUS(progress(done, static_cast<int>(plan.count())));
        piece = cut(latents, y, x, plan.y.tile, plan.x.tile);
        place.repeat(work);
        ++done;
        if (first_non_finite(decoded.values()) >= 0) return not_finite(autoencoder, "autoencoder: decoding");
        return decoded;
      });
  place.finish();
  VENEER_TRY_STATUS(progress(static_cast<int>(plan.count()), static_cast<int>(plan.count())));
  return picture;
}

Result<model::Autoencoder::Encoded> encode_picture(const model::Autoencoder& autoencoder, Workplace& place,
                                                   const Tensor& picture, const TilingOptions& tiling,
                                                   const TileProgress& progress) {
  const int64_t factor = autoencoder.factor(), channels = autoencoder.latent_channels();
  const TilePlan plan = plan_tiles(tiling, picture.shape[1] / factor, picture.shape[2] / factor, true);
  int done = 0;
  bool has_deviation = false;
  Tensor piece = cut(picture, 0, 0, plan.y.tile * factor, plan.x.tile * factor);
  // Mean and deviation side by side on the channels, so that both are blended alike.
  Tensor moments = Tensor::zeros({1, plan.y.tile, plan.x.tile, 2 * channels});
  const auto work = [&](nn::Context& context) {
    const auto encoded = autoencoder.encode(context, piece);
    has_deviation = encoded.deviation.has_value();
    if (context.measuring()) return;
    for (int64_t pixel = 0; pixel < plan.y.tile * plan.x.tile; ++pixel) {
      std::copy_n(encoded.mean.f32() + pixel * channels, channels, moments.f32() + pixel * 2 * channels);
      if (encoded.deviation)
        std::copy_n(encoded.deviation->f32() + pixel * channels, channels, moments.f32() + (pixel * 2 + 1) * channels);
    }
  };
  place.prepare(work);
  auto all = run_tiles(plan, 1, 2 * channels, std::nullopt, [&](int64_t y, int64_t x) -> Result<Tensor> {
    VENEER_TRY_STATUS(progress(done, static_cast<int>(plan.count())));
    piece = cut(picture, y * factor, x * factor, plan.y.tile * factor, plan.x.tile * factor);
    place.repeat(work);
    ++done;
    if (first_non_finite(moments.values()) >= 0) return not_finite(autoencoder, "autoencoder: encoding");
    return moments;
  });
  place.finish();
  if (!all) return std::move(all).error();
  VENEER_TRY_STATUS(progress(static_cast<int>(plan.count()), static_cast<int>(plan.count())));

  const Shape shape{1, plan.y.length, plan.x.length, channels};
  model::Autoencoder::Encoded out{Tensor::zeros(shape), std::nullopt};
  if (has_deviation) out.deviation = Tensor::zeros(shape);
  for (int64_t pixel = 0; pixel < plan.y.length * plan.x.length; ++pixel) {
    std::copy_n(all->f32() + pixel * 2 * channels, channels, out.mean.f32() + pixel * channels);
    if (has_deviation)
      std::copy_n(all->f32() + (pixel * 2 + 1) * channels, channels, out.deviation->f32() + pixel * channels);
  }
  return out;
}

Footprint measure_decode(const model::Autoencoder& autoencoder, int64_t height, int64_t width,
                         const TilingOptions& tiling) {
  const TilePlan plan = plan_tiles(tiling, height, width, false);
  Tensor piece{{1, plan.y.tile, plan.x.tile, autoencoder.latent_channels()}, DType::kF32, nullptr, nullptr};
  return measure([&](nn::Context& context) { autoencoder.decode(context, piece); });
}

}  // namespace veneer::pipeline
