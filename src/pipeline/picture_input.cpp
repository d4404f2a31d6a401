// Given pictures, their masks and their latents.
#include "pipeline/picture_input.h"

#include <algorithm>

#include "pipeline/pixels.h"

namespace veneer::pipeline {
namespace {

Result<model::Autoencoder::Encoded> encode(const PictureEncoder& encoder, const Tensor& picture,
                                           const PictureOrder& order, const TileProgress& progress) {
  if (!encoder.autoencoder)
    return Error{ErrorCode::kUsage, "--init-img: the model's autoencoder has no encoder; give a whole one with --vae",
                 "--init-img"};
  return encode_picture(*encoder.autoencoder, *encoder.place, picture, order.tiling, progress);
}

// The mask, then the latent of the picture with mid-grey where it is to be repainted. Without a picture all is to be
// painted. The posterior's mean is taken, so that the noise of a seed is the same with and without a picture.
Result<Tensor> inpaint_channels(const PictureOrder& order, const PictureEncoder& encoder,
                                const PreparedPicture& prepared, const Tensor& cells, const TileProgress& progress) {
  constexpr float kGrey = 0.5f;
  Tensor picture = Tensor::zeros({1, order.height, order.width, 3});
  std::ranges::fill(picture.values(), kGrey);
  if (!prepared.mask.empty()) {
    const Tensor given = tensor_from_image(prepared.picture);
    for (int64_t p = 0; p < prepared.mask.elements(); ++p)
      if (prepared.mask.f32()[p] == 0.0f) std::copy_n(given.f32() + p * 3, 3, picture.f32() + p * 3);
  }
  VENEER_TRY(encoded, encode(encoder, picture, order, progress));
  const Tensor& latent = encoded.mean;
  const int64_t channels = latent.shape[3];
  Tensor out = Tensor::zeros({1, latent.shape[1], latent.shape[2], 1 + channels});
  for (int64_t p = 0; p < latent.shape[1] * latent.shape[2]; ++p) {
    float* const to = out.f32() + p * (1 + channels);
    *to = cells.empty() ? 1.0f : cells.f32()[p];
    std::copy_n(latent.f32() + p * channels, channels, to + 1);
  }
  return out;
}

// What the encoder itself gives, without the family's scaling.
Tensor unscaled(const Tensor& latent, const model::LatentScaling& scaling) {
  Tensor out = latent.clone();
  for (float& value : out.values()) value = static_cast<float>(value / scaling.scale + scaling.shift);
  return out;
}

void protect_unmasked(const Tensor& cells, PreparedPicture& prepared) {
  Protection protection{{}, prepared.latent};
  const size_t channels = prepared.latent.size() / static_cast<size_t>(cells.elements());
  for (const float cell : cells.values()) protection.mask.insert(protection.mask.end(), channels, cell);
  prepared.protection = std::move(protection);
}

}  // namespace

PictureInput picture_input_of(const model::Denoiser& denoiser) {
  const int64_t more = denoiser.input_channels() - denoiser.latent_channels();
  if (more == denoiser.latent_channels() + 1) return PictureInput::kInpaint;
  return more == denoiser.latent_channels() ? PictureInput::kEdit : PictureInput::kNone;
}

Result<PreparedPicture> prepare_picture(const PictureOrder& order, const PictureEncoder& encoder,
                                        const model::LatentScaling& scaling, const TileProgress& progress) {
  PreparedPicture out;
  Tensor cells;  // of the mask
  if (order.picture) {
    out.picture = io::crop_and_resize(io::with_channels(*order.picture, 3), order.width, order.height);
    VENEER_TRY(encoded, encode(encoder, tensor_from_image(out.picture), order, progress));
    if (order.input == PictureInput::kEdit) {
      out.channels = unscaled(encoded.mean, scaling);
      return out;
    }
    out.latent.assign(encoded.mean.values().begin(), encoded.mean.values().end());
    if (encoded.deviation) {
      std::vector<float> noise(out.latent.size());
      order.noise(noise);
      for (size_t i = 0; i < noise.size(); ++i) out.latent[i] += encoded.deviation->values()[i] * noise[i];
    }
  }
  if (order.mask) {
    out.mask = mask_from_image(io::crop_and_resize(io::with_channels(*order.mask, 1), order.width, order.height));
    cells = reduce_mask(out.mask, static_cast<int>(encoder.autoencoder->factor()));
    protect_unmasked(cells, out);
  }
  if (order.input == PictureInput::kInpaint) {
    VENEER_TRY(channels, inpaint_channels(order, encoder, out, cells, progress));
    out.channels = std::move(channels);
  }
  return out;
}

}  // namespace veneer::pipeline
