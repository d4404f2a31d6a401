// The denoiser of FLUX.1 (schnell, dev and what was made of them): joint blocks of text and image, then single blocks
// over both, with rotary positions. Sizes are read from names and shapes. A network that was distilled with guidance
// has layers for it.
#pragma once

#include "io/model_files.h"
#include "model/mmdit.h"
#include "model/parts.h"

namespace veneer::model {

// True for either spelling.
bool is_flux(const io::ModelPart& part);
// True for networks that take a guidance number (dev).
bool is_guided_flux(const io::ModelPart& part);

// `part` in either spelling. Errors: bad_file, mismatch, unsupported (networks with inputs of their own for masks or
// control images).
Result<std::unique_ptr<Denoiser>> build_flux(const io::ModelPart& part);

// One block over the tokens of text and image together: attention and feed-forward part side by side.
class SingleBlock {
 public:
  SingleBlock(nn::LayerBuilder& builder, const std::string& name, const TransformerSizes& sizes);
  // x [batch, tokens, width] becomes that after the block; `condition` as for JointBlock.
  void forward(nn::Context& context, Tensor& x, const Tensor& condition, const Rotation& rotation) const;

 private:
  TransformerSizes sizes_;
  const nn::Layer *vectors_, *inner_, *out_;
  Projections projections_;
};

// [batch, height, width, channels] <-> [batch, tokens, 4 * channels]: a token is a 2x2 cell, whose numbers are ordered
// channel, row, column (in SD3's outputs the channel is last).
Tensor pack_latent(nn::Context& context, const Tensor& map);
Tensor unpack_latent(nn::Context& context, const Tensor& tokens, int64_t height, int64_t width);

// The angles of `text_tokens` tokens that all stand at the origin, then of rows x columns tokens of the image. An
// eighth of a head turns with an axis that pictures do not use, the other parts with row and column; base 10000.
// `head_width` is a multiple of 32.
Rotation flux_rotation(nn::Context& context, int64_t text_tokens, int64_t rows, int64_t columns, int64_t head_width);

}  // namespace veneer::model
