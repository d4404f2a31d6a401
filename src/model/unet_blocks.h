// The blocks that UNets are made of. Each takes its layers from a builder and computes on a context.
#pragma once

#include <optional>
#include <vector>

#include "nn/builder.h"
#include "nn/context.h"

namespace veneer::model {

struct UNetSizes {
  int64_t groups = 32;        // of all group norms
  int64_t time_width = 0;     // E
  int64_t context_width = 0;  // D
};

// r = conv(silu(norm(x))) + linear(silu(time)); conv(silu(norm(r))) + shortcut(x). Norms: epsilon 1e-5.
class ResidualBlock {
 public:
  ResidualBlock(nn::LayerBuilder& builder, const std::string& name, int64_t in, const UNetSizes& sizes);
  // `time` is [batch, E], SiLU already applied.
  Tensor forward(nn::Context& context, const Tensor& x, const Tensor& time) const;
  int64_t out() const { return out_; }

 private:
  const nn::Layer *norm1_, *conv1_, *time_, *norm2_, *conv2_;
  const nn::Layer* shortcut_ = nullptr;
  int64_t groups_, out_;
};

// Self-attention, cross-attention and GEGLU, each on a layer norm of its input and added to it.
class TransformerBlock {
 public:
  TransformerBlock(nn::LayerBuilder& builder, const std::string& name, int64_t width, int64_t heads,
                   const UNetSizes& sizes);
  void forward(nn::Context& context, Tensor& x, const Tensor& text) const;

 private:
  struct AttentionLayers {
    const nn::Layer *norm, *q, *k, *v, *out;
  };
  void attend(nn::Context& context, const AttentionLayers& layers, Tensor& x, const Tensor* text) const;
  AttentionLayers self_, cross_;
  const nn::Layer *feed_norm_, *feed_in_, *feed_out_;
  int64_t heads_;
};

// Group norm (epsilon 1e-6), projection, transformer blocks over the pixels as tokens, projection, plus the input.
class SpatialTransformer {
 public:
  SpatialTransformer(nn::LayerBuilder& builder, const std::string& name, int64_t width, int64_t depth, int64_t heads,
                     const UNetSizes& sizes);
  Tensor forward(nn::Context& context, const Tensor& x, const Tensor& text) const;

 private:
  const nn::Layer *norm_, *in_, *out_;
  std::vector<TransformerBlock> blocks_;
  int64_t groups_;
};

// A residual block and the attention that may follow it.
struct UNetStage {
  ResidualBlock residual;
  std::optional<SpatialTransformer> attention;
  Tensor forward(nn::Context& context, const Tensor& x, const Tensor& time, const Tensor& text) const;
};

}  // namespace veneer::model
