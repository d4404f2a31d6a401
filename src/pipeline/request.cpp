// Rules for requests and sizes that need no model.
#include "pipeline/request.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "pipeline/sizes.h"

namespace veneer::pipeline {
namespace {

constexpr int kMostPictures = 1000;
constexpr int kMostSteps = 10000;
constexpr int kMostT5Tokens = 4096;

Error usage(std::string_view option, std::string message) {
  return {ErrorCode::kUsage, concat(option, ": ", message), std::string(option)};
}

Status in_range(std::string_view option, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return usage(option, concat("must be between ", low, " and ", high, ", found ", value));
}

Status check_size(const Size& size, const SizeRule& rule) {
  const Size legal = nearest_legal(size, rule);
  if (size == legal) return {};
  return usage("size", concat(size.width, "x", size.height, " is not possible with this model (multiples of ",
                              rule.multiple, ", ", rule.smallest, " to ", rule.largest,
                              " pixels a side); the nearest legal size is ", legal.width, "x", legal.height));
}

}  // namespace

Size nearest_legal(const Size& size, const SizeRule& rule) {
  const auto side = [&](int pixels) {
    const int64_t rounded = (static_cast<int64_t>(pixels) + rule.multiple / 2) / rule.multiple * rule.multiple;
    return static_cast<int>(std::clamp<int64_t>(rounded, rule.smallest, rule.largest));
  };
  return {side(size.width), side(size.height)};
}

Result<Size> resolve_size(const Request& request, const Size& native, const SizeRule& rule) {
  Size size = native;
  if (request.init_image) {
    const auto down = [&rule](int pixels) { return pixels / rule.multiple * rule.multiple; };
    size = nearest_legal({down(request.init_image->width), down(request.init_image->height)}, rule);
  }
  size.width = request.width.value_or(size.width);
  size.height = request.height.value_or(size.height);
  VENEER_TRY_STATUS(check_size(size, rule));
  return size;
}

Result<std::optional<adapt::BlockWeights>> block_weights_of(const text::AdapterRequest& request) {
  adapt::BlockWeights weights;
  if (request.block_weights) {
    auto listed = adapt::BlockWeights::parse(*request.block_weights);
    if (!listed) {
      listed.error().message.insert(0, concat("adapter ", request.name, ": "));
      return listed.error();
    }
    weights = *std::move(listed);
  }
  weights.scale_sides(request.in_scale, request.mid_scale, request.out_scale);
  return weights == adapt::BlockWeights() ? std::optional<adapt::BlockWeights>() : weights;
}

Status validate(const Request& request) {
  VENEER_TRY_STATUS(in_range("--steps", request.steps, 1, kMostSteps));
  VENEER_TRY_STATUS(in_range("--batch-count", request.batch_count, 1, kMostPictures));
  VENEER_TRY_STATUS(in_range("--strength", request.strength, 0, 1));
  if (request.t5_length > 0) VENEER_TRY_STATUS(in_range("--t5-length", request.t5_length, 2, kMostT5Tokens));
  if (request.cfg_scale) VENEER_TRY_STATUS(in_range("--cfg-scale", *request.cfg_scale, 0, 1000));
  if (request.image_cfg_scale) VENEER_TRY_STATUS(in_range("--img-cfg-scale", *request.image_cfg_scale, 0, 1000));
  if (request.guidance) VENEER_TRY_STATUS(in_range("--guidance", *request.guidance, 0, 1000));
  VENEER_TRY_STATUS(in_range("--cfg-rescale", request.cfg_rescale, 0, 1));
  VENEER_TRY_STATUS(in_range("--vae-tile-overlap", request.tiling.overlap, 0, 0.5));
  for (const text::AdapterRequest& adapter : request.adapters.adapters) VENEER_TRY_STATUS(block_weights_of(adapter));
  if (request.eta) VENEER_TRY_STATUS(in_range("--eta", *request.eta, 0, 1000));
  if (request.preview_interval < 1)
    return usage("--preview-interval", concat("must be at least 1, found ", request.preview_interval));
  if (request.tiling.tile_width < 8 || request.tiling.tile_height < 8)
    return usage("--vae-tile-size", concat("must be at least 8x8 latent pixels, found ", request.tiling.tile_width, "x",
                                           request.tiling.tile_height));
  if (request.mask && !request.init_image)
    return usage("--mask", "needs a picture to repaint; give one with --init-img");
  return {};
}

}  // namespace veneer::pipeline
