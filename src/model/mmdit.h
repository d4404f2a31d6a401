// The parts that SD3 and FLUX.1 share: transformers in which the tokens of the text and those of the image keep weights
// of their own and attend to one another (Esser et al. 2024). Layers have the names of diffusers. Everything here is
// built from layers by name and keeps no other state.
#pragma once

#include <optional>
#include <string>

#include "io/weight_store.h"
#include "model/parts.h"
#include "nn/builder.h"

namespace veneer::model {

// A head is `head_width` of the `width` channels; the builder of a network has made sure that they divide. `normed`:
// queries and keys pass a root-mean-square norm, head by head.
struct TransformerSizes {
  int64_t width = 0, head_width = 0;
  bool normed = true;
  int64_t heads() const { return width / head_width; }
};

// Angles of rotary positions, [tokens, head width / 2] each.
struct Rotation {
  Tensor cosines, sines;
};

// Time, guidance where the network has a layer for it, and the pooled text, as one vector.
class ConditionEmbedding {
 public:
  ConditionEmbedding() = default;
  ConditionEmbedding(nn::LayerBuilder& builder, int64_t width);
  // [batch, width].
  Tensor forward(nn::Context& context, const Denoiser::Input& input) const;
  int64_t vector_width() const { return text_.first->in(); }
  bool takes_guidance() const { return guidance_.first != nullptr; }

 private:
  struct TwoLayers {
    const nn::Layer *first = nullptr, *second = nullptr;
  };
  static TwoLayers build(nn::LayerBuilder& builder, const std::string& name, int64_t width);
  static Tensor run(nn::Context& context, const TwoLayers& layers, const Tensor& x);

  TwoLayers time_, guidance_, text_;
};

// Query, key and value of one stream of tokens.
class Projections {
 public:
  struct Names {
    std::string q, k, v, norm_q, norm_k;
  };
  struct Output {
    Tensor q, k, v;  // [batch, tokens, width]
  };
  static Names image_names(const std::string& attention);  // "x.to_q", ...
  static Names text_names(const std::string& attention);   // "x.add_q_proj", ...

  Projections(nn::LayerBuilder& builder, const Names& names, const TransformerSizes& sizes);
  Output forward(nn::Context& context, const Tensor& x) const;

 private:
  const nn::Layer *q_, *k_, *v_, *norm_q_ = nullptr, *norm_k_ = nullptr;
};

// Attention among the tokens of `projected`, whose queries and keys are turned in place.
Tensor attend(nn::Context& context, Projections::Output& projected, int64_t heads, const Rotation* rotation);

// lin2(gelu_tanh(lin1(x))).
class FeedForward {
 public:
  FeedForward(nn::LayerBuilder& builder, const std::string& name, int64_t width);
  Tensor forward(nn::Context& context, const Tensor& x) const;

 private:
  const nn::Layer *first_, *second_;
};

// One block of both streams. The image's side may attend to itself a second time (SD3.5 medium); the text's side of
// SD3's last block only gives keys and values.
class JointBlock {
 public:
  JointBlock(nn::LayerBuilder& builder, const std::string& name, const TransformerSizes& sizes);

  // image [batch, tokens, width] and text [batch, tokens, width] become those after the block; `condition` is silu of
  // the embedding, [batch, width]. Tokens of the text come before those of the image in `rotation`, which may be null.
  void forward(nn::Context& context, Tensor& image, Tensor& text, const Tensor& condition,
               const Rotation* rotation) const;
  bool is_last() const { return !text_out_; }

 private:
  // What follows the attention on one side.
  struct Rest {
    const nn::Layer* out;
    FeedForward feed_forward;
  };
  struct SelfAttention {
    Projections projections;
    const nn::Layer* out;
  };
  static void finish(nn::Context& context, const Rest& rest, Tensor& x, const Tensor& attended, const Tensor& vectors);

  TransformerSizes sizes_;
  std::optional<SelfAttention> second_;
  std::optional<Rest> text_out_;
  const nn::Layer *image_vectors_, *text_vectors_;
  Projections image_, text_;
  Rest image_out_;
};

// Norm under the last modulation, and the projection to numbers of pixels.
class FinalLayer {
 public:
  FinalLayer() = default;
  FinalLayer(nn::LayerBuilder& builder, int64_t width);
  Tensor forward(nn::Context& context, const Tensor& x, const Tensor& condition) const;
  int64_t out() const { return projection_->out(); }

 private:
  const nn::Layer *vectors_ = nullptr, *projection_ = nullptr;
};

// Of layer norms and of root-mean-square norms in these networks.
inline constexpr float kTransformerEpsilon = 1e-6f;

// silu(x), leaving x as it is.
Tensor silu_of(nn::Context& context, const Tensor& x);

// How many blocks "<list>.<i>.<member>.weight" the store has. Errors: bad_file when there is none, or when they are not
// numbered from 0 without gaps.
Result<int64_t> count_blocks(const io::WeightStore& store, const std::string& list, const std::string& member);

}  // namespace veneer::model
