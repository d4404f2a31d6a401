// Pictures to latents and back, whole or in tiles, with the checks that keep a broken decode from becoming a black
// picture.
#pragma once

#include <functional>

#include "model/parts.h"
#include "pipeline/memory.h"
#include "pipeline/request.h"

namespace veneer::pipeline {

// Called before each tile with how many are done; an error ends the work.
using TileProgress = std::function<Status(int done, int of)>;

// [1, h, w, channels] -> [1, h * factor, w * factor, 3], not clamped. Errors: bad_file when values are not finite.
Result<Tensor> decode_latents(const model::Autoencoder& autoencoder, Workplace& place, const Tensor& latents,
                              const TilingOptions& tiling, const TileProgress& progress);

// The distribution of latents of a picture [1, height, width, 3]. Errors: bad_file when values are not finite.
Result<model::Autoencoder::Encoded> encode_picture(const model::Autoencoder& autoencoder, Workplace& place,
                                                   const Tensor& picture, const TilingOptions& tiling,
                                                   const TileProgress& progress);

// What decoding takes, a tile at a time.
Footprint measure_decode(const model::Autoencoder& autoencoder, int64_t height, int64_t width,
                         const TilingOptions& tiling);

// The first weight of the network that holds a value which is not finite, for messages; empty when all are finite.
// Decodes all.
std::string find_broken_weight(const model::Network& network);

}  // namespace veneer::pipeline
