// Blocks of a UNet.
#include "model/unet_blocks.h"

#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {
constexpr float kResidualEpsilon = 1e-5f;
constexpr float kSpatialEpsilon = 1e-6f;
constexpr float kLayerEpsilon = 1e-5f;
using device::ConvGeometry;
using nn::Bias;
using nn::LayerBuilder;
}  // namespace

ResidualBlock::ResidualBlock(LayerBuilder& builder, const std::string& name, int64_t in, const UNetSizes& sizes)
    : groups_(sizes.groups) {
  norm1_ = builder.norm(name + ".norm1", in, groups_);
  conv1_ = builder.conv2d(name + ".conv1", LayerBuilder::kAny, in, 3, ConvGeometry::same(3));
  out_ = conv1_->weight.rows();
  time_ = builder.linear(name + ".time_emb_proj", out_, sizes.time_width);
  norm2_ = builder.norm(name + ".norm2", out_, groups_);
  conv2_ = builder.conv2d(name + ".conv2", out_, out_, 3, ConvGeometry::same(3));
  if (out_ != in) shortcut_ = builder.conv2d(name + ".conv_shortcut", out_, in, 1, {});
}

Tensor ResidualBlock::forward(nn::Context& context, const Tensor& x, const Tensor& time) const {
  Tensor r = nn::group_norm(context, *norm1_, x, groups_, kResidualEpsilon, true);
  r = nn::conv2d(context, *conv1_, r);
  nn::add_vector_(context, r, nn::linear(context, *time_, time));
  r = nn::group_norm(context, *norm2_, r, groups_, kResidualEpsilon, true);
  r = nn::conv2d(context, *conv2_, r);
  nn::add_(context, r, shortcut_ ? nn::conv2d(context, *shortcut_, x) : x);
  return r;
}

TransformerBlock::TransformerBlock(LayerBuilder& builder, const std::string& name, int64_t width, int64_t heads,
                                   const UNetSizes& sizes)
    : heads_(heads) {
  const auto attention = [&](const std::string& norm, const std::string& part, int64_t source) {
    return AttentionLayers{builder.norm(name + norm, width),
                           builder.linear(name + part + ".to_q", width, width, Bias::kNone),
                           builder.linear(name + part + ".to_k", width, source, Bias::kNone),
                           builder.linear(name + part + ".to_v", width, source, Bias::kNone),
                           builder.linear(name + part + ".to_out.0", width, width)};
  };
  self_ = attention(".norm1", ".attn1", width);
  cross_ = attention(".norm2", ".attn2", sizes.context_width);
  feed_norm_ = builder.norm(name + ".norm3", width);
  feed_in_ = builder.linear(name + ".ff.net.0.proj", LayerBuilder::kAny, width);
  if (feed_in_->out() % 2 != 0)
    builder.fail({ErrorCode::kMismatch,
                  concat(name, ": a gated feed-forward needs an even number of outputs, found ", feed_in_->out()),
                  name});
  feed_out_ = builder.linear(name + ".ff.net.2", width, feed_in_->weight.rows() / 2);
}

void TransformerBlock::attend(nn::Context& context, const AttentionLayers& layers, Tensor& x,
                              const Tensor* text) const {
  const Tensor normed = nn::layer_norm(context, *layers.norm, x, kLayerEpsilon);
  const Tensor q = nn::linear(context, *layers.q, normed);
  const Tensor k = text ? nn::linear_once(context, *layers.k, *text) : nn::linear(context, *layers.k, normed);
  const Tensor v = text ? nn::linear_once(context, *layers.v, *text) : nn::linear(context, *layers.v, normed);
  nn::add_(context, x, nn::linear(context, *layers.out, nn::attention(context, q, k, v, heads_)));
}

void TransformerBlock::forward(nn::Context& context, Tensor& x, const Tensor& text) const {
  attend(context, self_, x, nullptr);
  attend(context, cross_, x, &text);
  Tensor inner = nn::layer_norm(context, *feed_norm_, x, kLayerEpsilon);
  inner = nn::geglu(context, nn::linear(context, *feed_in_, inner));
  nn::add_(context, x, nn::linear(context, *feed_out_, inner));
}

SpatialTransformer::SpatialTransformer(LayerBuilder& builder, const std::string& name, int64_t width, int64_t depth,
                                       int64_t heads, const UNetSizes& sizes)
    : groups_(sizes.groups) {
  norm_ = builder.norm(name + ".norm", width, groups_);
  in_ = builder.linear(name + ".proj_in", width, width);
  for (int64_t i = 0; i < depth; ++i)
    blocks_.emplace_back(builder, concat(name, ".transformer_blocks.", i), width, heads, sizes);
  out_ = builder.linear(name + ".proj_out", width, width);
}

Tensor SpatialTransformer::forward(nn::Context& context, const Tensor& x, const Tensor& text) const {
  Tensor y = nn::group_norm(context, *norm_, x, groups_, kSpatialEpsilon);
  y = nn::linear(context, *in_, y);
  y = y.reshaped({y.shape[0], y.shape[1] * y.shape[2], y.shape[3]});
  for (const TransformerBlock& block : blocks_) block.forward(context, y, text);
  y = nn::linear(context, *out_, y).reshaped(x.shape);
  nn::add_(context, y, x);
  return y;
}

Tensor UNetStage::forward(nn::Context& context, const Tensor& x, const Tensor& time, const Tensor& text) const {
  Tensor y = residual.forward(context, x, time);
  return attention ? attention->forward(context, y, text) : y;
}

}  // namespace veneer::model
