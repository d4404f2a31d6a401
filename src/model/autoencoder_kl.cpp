// Building and running an AutoencoderKL from canonical names.
#include "model/autoencoder_kl.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "model/autoencoder_names.h"
#include "nn/builder.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using device::ConvGeometry;
using nn::LayerBuilder;

constexpr float kEpsilon = 1e-6f;
// One zero row and column at the right and bottom only, which is how the encoder was trained.
constexpr ConvGeometry kDownsample{2, 0, 0, 1, 1, 1};

// conv(silu(norm(conv(silu(norm(x)))))) + shortcut(x).
struct Residual {
  const nn::Layer *norm1, *conv1, *norm2, *conv2, *shortcut;
  int64_t groups;

  Residual(LayerBuilder& builder, const std::string& name, int64_t in, int64_t norm_groups) : groups(norm_groups) {
    norm1 = builder.norm(name + ".norm1", in, groups);
    conv1 = builder.conv2d(name + ".conv1", LayerBuilder::kAny, in, 3, ConvGeometry::same(3));
    norm2 = builder.norm(name + ".norm2", out(), groups);
    conv2 = builder.conv2d(name + ".conv2", out(), out(), 3, ConvGeometry::same(3));
    shortcut = out() == in ? nullptr : builder.conv2d(name + ".conv_shortcut", out(), in, 1, {});
  }
  int64_t out() const { return conv1->weight.rows(); }

  Tensor forward(nn::Context& context, const Tensor& x) const {
    Tensor r = nn::conv2d(context, *conv1, nn::group_norm(context, *norm1, x, groups, kEpsilon, true));
    r = nn::group_norm(context, *norm2, r, groups, kEpsilon, true);
    r = nn::conv2d(context, *conv2, r);
    nn::add_(context, r, shortcut ? nn::conv2d(context, *shortcut, x) : x);
    return r;
  }
};

// One head over all pixels, plus the input.
struct PixelAttention {
  const nn::Layer *norm, *q, *k, *v, *out;
  int64_t groups;

  PixelAttention(LayerBuilder& builder, const std::string& name, int64_t width, int64_t norm_groups)
      : groups(norm_groups) {
    norm = builder.norm(name + ".group_norm", width, groups);
    q = builder.linear(name + ".to_q", width, width);
    k = builder.linear(name + ".to_k", width, width);
    v = builder.linear(name + ".to_v", width, width);
    out = builder.linear(name + ".to_out.0", width, width);
  }

  Tensor forward(nn::Context& context, const Tensor& x) const {
    Tensor tokens = nn::group_norm(context, *norm, x, groups, kEpsilon);
    tokens = tokens.reshaped({x.shape[0], x.shape[1] * x.shape[2], x.shape[3]});
    const Tensor query = nn::linear(context, *q, tokens);
    const Tensor key = nn::linear(context, *k, tokens);
    const Tensor value = nn::linear(context, *v, tokens);
    Tensor y = nn::linear(context, *out, nn::attention(context, query, key, value, 1));
    nn::add_(context, y, x);
    return y.reshaped(x.shape);
  }
};

struct Level {
  std::vector<Residual> residuals;
  const nn::Layer* resample = nullptr;
};

// What encoder and decoder have in common: a first convolution, levels, a middle, and norm + convolution at the end.
struct Side {
  const nn::Layer* conv_in = nullptr;
  std::vector<Level> levels;
  std::vector<Residual> mid;
  std::optional<PixelAttention> attention;
  const nn::Layer *norm_out = nullptr, *conv_out = nullptr;
  int64_t groups = 32;

  int64_t build_middle(LayerBuilder& builder, const std::string& name, int64_t width);
  int64_t build_levels(LayerBuilder& builder, const std::string& name, const std::string& list, int64_t width);
  void build_end(LayerBuilder& builder, const std::string& name, int64_t width);
  Tensor run_middle(nn::Context& context, Tensor x) const;
  Tensor run_end(nn::Context& context, const Tensor& x) const;
  int64_t factor() const {
    int64_t product = 1;
    for (const Level& level : levels) product *= level.resample ? 2 : 1;
    return product;
  }
};

int64_t Side::build_middle(LayerBuilder& builder, const std::string& name, int64_t width) {
  for (size_t j = 0; builder.has(concat(name, ".mid_block.resnets.", j, ".conv1")); ++j) {
    mid.emplace_back(builder, concat(name, ".mid_block.resnets.", j), width, groups);
    width = mid.back().out();
  }
  // A few decoders come without the attention.
  const std::string middle = name + ".mid_block.attentions.0";
  if (builder.has(middle + ".to_q")) attention.emplace(builder, middle, width, groups);
  return width;
}

int64_t Side::build_levels(LayerBuilder& builder, const std::string& name, const std::string& list, int64_t width) {
  for (size_t i = 0; builder.has(concat(name, ".", list, "_blocks.", i, ".resnets.0.conv1")); ++i) {
    const std::string block = concat(name, ".", list, "_blocks.", i);
    Level level;
    for (size_t j = 0; builder.has(concat(block, ".resnets.", j, ".conv1")); ++j) {
      level.residuals.emplace_back(builder, concat(block, ".resnets.", j), width, groups);
      width = level.residuals.back().out();
    }
    const std::string resample = block + (list == "down" ? ".downsamplers.0.conv" : ".upsamplers.0.conv");
    if (builder.has(resample))
      level.resample = builder.conv2d(resample, width, width, 3, list == "down" ? kDownsample : ConvGeometry::same(3));
    levels.push_back(std::move(level));
  }
  return width;
}

void Side::build_end(LayerBuilder& builder, const std::string& name, int64_t width) {
  norm_out = builder.norm(name + ".conv_norm_out", width, groups);
  conv_out = builder.conv2d(name + ".conv_out", LayerBuilder::kAny, width, 3, ConvGeometry::same(3));
}

Tensor Side::run_middle(nn::Context& context, Tensor x) const {
  for (size_t j = 0; j < mid.size(); ++j) {
    x = mid[j].forward(context, x);
    if (j == 0 && attention) x = attention->forward(context, x);
  }
  return x;
}

Tensor Side::run_end(nn::Context& context, const Tensor& x) const {
  return nn::conv2d(context, *conv_out, nn::group_norm(context, *norm_out, x, groups, kEpsilon, true));
}

class AutoencoderKl final : public Autoencoder {
 public:
  static Result<std::unique_ptr<Autoencoder>> build(const io::ModelPart& part, const LatentScaling& scaling);
  Tensor decode(nn::Context& context, const Tensor& latents) const override;
  Encoded encode(nn::Context& context, const Tensor& image) const override;
  int64_t factor() const override { return decoder_ ? decoder_->factor() : encoder_->factor(); }
  int64_t latent_channels() const override { return latent_channels_; }
  std::optional<int64_t> reach() const override { return std::nullopt; }
  bool can_encode() const override { return encoder_.has_value(); }
  bool can_decode() const override { return decoder_.has_value(); }

 private:
  void build_encoder(LayerBuilder& builder, int64_t groups);
  void build_decoder(LayerBuilder& builder, int64_t groups);

  LatentScaling scaling_;
  int64_t latent_channels_ = 0;
  std::optional<Side> encoder_, decoder_;
  const nn::Layer *quant_ = nullptr, *post_quant_ = nullptr;
};

void AutoencoderKl::build_encoder(LayerBuilder& builder, int64_t groups) {
  Side side;
  side.groups = groups;
  side.conv_in = builder.conv2d("encoder.conv_in", LayerBuilder::kAny, 3, 3, ConvGeometry::same(3));
  int64_t width = side.build_levels(builder, "encoder", "down", side.conv_in->weight.rows());
  width = side.build_middle(builder, "encoder", width);
  side.build_end(builder, "encoder", width);
  const int64_t moments = side.conv_out->out();
  if (builder.has("quant_conv")) quant_ = builder.conv2d("quant_conv", moments, moments, 1, {});
  if (moments % 2 != 0)
    builder.fail({ErrorCode::kMismatch,
                  concat("encoder.conv_out: expected mean and variance, found ", moments, " channels"), "vae"});
  latent_channels_ = moments / 2;
  encoder_ = std::move(side);
}

void AutoencoderKl::build_decoder(LayerBuilder& builder, int64_t groups) {
  Side side;
  side.groups = groups;
  side.conv_in = builder.conv2d("decoder.conv_in", LayerBuilder::kAny, LayerBuilder::kAny, 3, ConvGeometry::same(3));
  latent_channels_ = side.conv_in->in();
  int64_t width = side.build_middle(builder, "decoder", side.conv_in->weight.rows());
  width = side.build_levels(builder, "decoder", "up", width);
  side.build_end(builder, "decoder", width);
  if (side.conv_out->out() != 3)
    builder.fail({ErrorCode::kMismatch,
                  concat("decoder.conv_out: expected 3 colours, found ", side.conv_out->out(), " channels"), "vae"});
  if (builder.has("post_quant_conv"))
    post_quant_ = builder.conv2d("post_quant_conv", latent_channels_, latent_channels_, 1, {});
  decoder_ = std::move(side);
}

Result<std::unique_ptr<Autoencoder>> AutoencoderKl::build(const io::ModelPart& part, const LatentScaling& scaling) {
  auto vae = std::unique_ptr<AutoencoderKl>(new AutoencoderKl());
  vae->scaling_ = scaling;
  VENEER_TRY(groups, json_integer(part.config, "norm_num_groups", 32, part.source));
  if (groups < 1)
    return Error{ErrorCode::kBadFile, concat(part.source, ": config.json: \"norm_num_groups\" must be positive"),
                 part.source};
  const io::WeightStore weights = autoencoder_names(names_of(part.weights)).apply(part.weights);
  LayerBuilder builder(weights, "vae", vae->layers_);
  if (builder.has("encoder.conv_in")) vae->build_encoder(builder, groups);
  const int64_t encoded = vae->latent_channels_;
  if (builder.has("decoder.conv_in")) vae->build_decoder(builder, groups);
  VENEER_TRY_STATUS(builder.status());
  if (!vae->encoder_ && !vae->decoder_)
    return Error{ErrorCode::kBadFile,
                 concat(part.source, ": holds no autoencoder (neither encoder.conv_in nor decoder.conv_in)"),
                 part.source};
  if (vae->encoder_ && vae->decoder_ &&
      (encoded != vae->latent_channels_ || vae->encoder_->factor() != vae->decoder_->factor()))
    return Error{ErrorCode::kMismatch,
                 concat(part.source, ": encoder and decoder do not belong together (", encoded, " and ",
                        vae->latent_channels_, " latent channels)"),
                 part.source};
  vae->unused_ = builder.unused();
  return std::unique_ptr<Autoencoder>(std::move(vae));
}

// y = x * scale + shift on a copy.
Tensor affine(nn::Context& context, const Tensor& x, double scale, double shift) {
  Tensor y = context.arena.allocate(x.shape);
  if (context.measuring()) return y;
  for (int64_t i = 0; i < x.elements(); ++i) y.f32()[i] = static_cast<float>(x.f32()[i] * scale + shift);
  return y;
}

Tensor AutoencoderKl::decode(nn::Context& context, const Tensor& latents) const {
  VENEER_CHECK(decoder_.has_value());
  Tensor x = affine(context, latents, 1.0 / scaling_.scale, scaling_.shift);
  if (post_quant_) x = nn::conv2d(context, *post_quant_, x);
  x = decoder_->run_middle(context, nn::conv2d(context, *decoder_->conv_in, x));
  for (const Level& level : decoder_->levels) {
    for (const Residual& residual : level.residuals) x = residual.forward(context, x);
    if (level.resample)
      x = nn::conv2d(context, *level.resample, nn::upsample(context, x, 2 * x.shape[1], 2 * x.shape[2]));
  }
  return affine(context, decoder_->run_end(context, x), 0.5, 0.5);
}

Autoencoder::Encoded AutoencoderKl::encode(nn::Context& context, const Tensor& image) const {
  VENEER_CHECK(encoder_.has_value());
  Tensor x = nn::conv2d(context, *encoder_->conv_in, affine(context, image, 2.0, -1.0));
  for (const Level& level : encoder_->levels) {
    for (const Residual& residual : level.residuals) x = residual.forward(context, x);
    if (level.resample) x = nn::conv2d(context, *level.resample, x);
  }
  x = encoder_->run_end(context, encoder_->run_middle(context, x));
  if (quant_) x = nn::conv2d(context, *quant_, x);

  // [.., mean | log variance] -> mean and standard deviation of the latent.
  Shape shape = x.shape;
  const int64_t channels = shape[3] = x.shape[3] / 2;
  Encoded encoded{context.arena.allocate(shape), context.arena.allocate(shape)};
  if (context.measuring()) return encoded;
  for (int64_t pixel = 0; pixel < x.elements() / (2 * channels); ++pixel) {
    for (int64_t c = 0; c < channels; ++c) {
      const double mean = x.f32()[pixel * 2 * channels + c];
      const double log_variance =
          std::clamp(static_cast<double>(x.f32()[pixel * 2 * channels + channels + c]), -30.0, 20.0);
      encoded.mean.f32()[pixel * channels + c] = static_cast<float>((mean - scaling_.shift) * scaling_.scale);
      encoded.deviation->f32()[pixel * channels + c] =
          static_cast<float>(std::exp(0.5 * log_variance) * scaling_.scale);
    }
  }
  return encoded;
}

}  // namespace

Result<std::unique_ptr<Autoencoder>> build_autoencoder_kl(const io::ModelPart& part, const LatentScaling& scaling) {
  return AutoencoderKl::build(part, scaling);
}

}  // namespace veneer::model
