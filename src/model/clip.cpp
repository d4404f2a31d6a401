// Building and running a CLIP text encoder.
#include "model/clip.h"

#include <algorithm>
#include <vector>

#include "core/format.h"
#include "model/clip_names.h"
#include "nn/builder.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using nn::LayerBuilder;

struct Block {
  const nn::Layer *norm1, *q, *k, *v, *out, *norm2, *fc1, *fc2;

  Block(LayerBuilder& builder, const std::string& name, int64_t width) {
    norm1 = builder.norm(name + ".layer_norm1", width);
    q = builder.linear(name + ".self_attn.q_proj", width, width);
    k = builder.linear(name + ".self_attn.k_proj", width, width);
    v = builder.linear(name + ".self_attn.v_proj", width, width);
    out = builder.linear(name + ".self_attn.out_proj", width, width);
    norm2 = builder.norm(name + ".layer_norm2", width);
    fc1 = builder.linear(name + ".mlp.fc1", LayerBuilder::kAny, width);
    fc2 = builder.linear(name + ".mlp.fc2", width, fc1->weight.rows());
  }
};

class Clip final : public TextEncoder {
 public:
  static Result<std::unique_ptr<TextEncoder>> build(const io::ModelPart& part, const std::string& component,
                                                    ClipPooled pooled);
  Encoded encode(nn::Context& context, const Input& input) const override;
  int64_t width() const override { return tokens_->weight.row_values(); }
  int64_t pooled_width() const override {
    if (projection_) return projection_->out();
    return pooled_ == ClipPooled::kLast ? width() : 0;
  }
  int64_t positions() const override { return positions_->weight.rows(); }
  int64_t vocabulary() const override { return tokens_->weight.rows(); }
  int64_t depth() const override { return static_cast<int64_t>(blocks_.size()); }

 private:
  Status read_config(const io::ModelPart& part);
  void run_block(nn::Context& context, const Block& block, Tensor& x) const;
  Tensor pool(nn::Context& context, const Tensor& x, std::span<const int32_t> ids) const;

  const nn::Layer *tokens_, *positions_, *final_norm_;
  const nn::Layer* projection_ = nullptr;
  std::vector<Block> blocks_;
  ClipPooled pooled_ = ClipPooled::kNone;
  int64_t heads_ = 0;
  int64_t end_id_ = 0;
  float epsilon_ = 1e-5f;
  device::Activation activation_ = device::Activation::kQuickGelu;
};

Status Clip::read_config(const io::ModelPart& part) {
  VENEER_TRY(heads, json_integer(part.config, "num_attention_heads", width() / 64, part.source));
  VENEER_TRY(epsilon, json_number(part.config, "layer_norm_eps", 1e-5, part.source));
  // Configurations of the first years name 2, which is no end token of any.
  VENEER_TRY(end_id, json_integer(part.config, "eos_token_id", vocabulary() - 1, part.source));
  end_id_ = end_id == 2 ? vocabulary() - 1 : end_id;
  VENEER_TRY(activation, json_string(part.config, "hidden_act", width() == 768 ? "quick_gelu" : "gelu", part.source));
  if (heads < 1 || width() % heads != 0)
    return Error{ErrorCode::kMismatch,
                 concat(part.source, ": a width of ", width(), " cannot be cut into ", heads, " heads"), part.source};
  if (activation != "quick_gelu" && activation != "gelu")
    return Error{ErrorCode::kUnsupported,
                 concat(part.source, ": config.json: activation \"", activation, "\", expected quick_gelu or gelu"),
                 part.source};
  heads_ = heads;
  epsilon_ = static_cast<float>(epsilon);
  activation_ = activation == "gelu" ? device::Activation::kGelu : device::Activation::kQuickGelu;
  return {};
}

Result<std::unique_ptr<TextEncoder>> Clip::build(const io::ModelPart& part, const std::string& component,
                                                 ClipPooled pooled) {
  auto clip = std::unique_ptr<Clip>(new Clip());
  clip->pooled_ = pooled;
  const io::WeightStore weights = canonical_clip(part.weights);
  LayerBuilder builder(weights, component, clip->layers_);
  clip->tokens_ =
      builder.embedding("text_model.embeddings.token_embedding.weight", LayerBuilder::kAny, LayerBuilder::kAny);
  const int64_t width = clip->width();
  clip->positions_ = builder.embedding("text_model.embeddings.position_embedding.weight", LayerBuilder::kAny, width);
  for (size_t i = 0; builder.has(concat("text_model.encoder.layers.", i, ".self_attn.q_proj")); ++i)
    clip->blocks_.emplace_back(builder, concat("text_model.encoder.layers.", i), width);
  clip->final_norm_ = builder.norm("text_model.final_layer_norm", width);
  if (pooled == ClipPooled::kProjected || (pooled == ClipPooled::kNone && builder.has("text_projection")))
    clip->projection_ = builder.linear("text_projection", LayerBuilder::kAny, width, nn::Bias::kNone);
  VENEER_TRY_STATUS(builder.status());
  if (clip->positions() < 3)
    return Error{ErrorCode::kMismatch, concat(part.source, ": a text encoder of ", clip->positions(), " positions"),
                 part.source};
  VENEER_TRY_STATUS(clip->read_config(part));
  clip->unused_ = builder.unused();
  return std::unique_ptr<TextEncoder>(std::move(clip));
}

void Clip::run_block(nn::Context& context, const Block& block, Tensor& x) const {
  Tensor a = nn::layer_norm(context, *block.norm1, x, epsilon_);
  const Tensor q = nn::linear(context, *block.q, a);
  const Tensor k = nn::linear(context, *block.k, a);
  const Tensor v = nn::linear(context, *block.v, a);
  a = nn::attention(context, q, k, v, heads_, {.causal = true});
  nn::add_(context, x, nn::linear(context, *block.out, a));
  Tensor m = nn::linear(context, *block.fc1, nn::layer_norm(context, *block.norm2, x, epsilon_));
  nn::activate_(context, m, activation_);
  nn::add_(context, x, nn::linear(context, *block.fc2, m));
}

// The state of the first end token, which has seen the whole text; the last one's when there is none.
Tensor Clip::pool(nn::Context& context, const Tensor& x, std::span<const int32_t> ids) const {
  const auto end = std::find(ids.begin(), ids.end(), end_id_);
  const auto place = std::min(end - ids.begin(), std::ssize(ids) - 1);
  const Tensor row = nn::slice_tokens(context, x, place, 1).reshaped({1, width()});
  return projection_ ? nn::linear(context, *projection_, row) : nn::copy(context, row);
}

TextEncoder::Encoded Clip::encode(nn::Context& context, const Input& input) const {
  const auto count = static_cast<int64_t>(input.ids.size());
  VENEER_CHECK(count <= positions() && input.skip >= 0 && input.skip <= depth());
  std::vector<int32_t> places(input.ids.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int32_t>(i);
  Tensor x = nn::embed(context, *tokens_, input.ids, input.extra_rows).reshaped({1, count, width()});
  nn::add_(context, x, nn::embed(context, *positions_, places));
  const size_t kept = blocks_.size() - static_cast<size_t>(input.skip);
  for (size_t i = 0; i < kept; ++i) run_block(context, blocks_[i], x);
  Encoded out;
  if (!input.pooled) {
    out.states = input.final_norm ? nn::layer_norm(context, *final_norm_, x, epsilon_) : x;
    return out;
  }
  out.states = input.final_norm ? nn::layer_norm(context, *final_norm_, x, epsilon_) : nn::copy(context, x);
  for (size_t i = kept; i < blocks_.size(); ++i) run_block(context, blocks_[i], x);
  out.pooled = pool(context, nn::layer_norm(context, *final_norm_, x, epsilon_), input.ids);
  return out;
}

}  // namespace

Result<std::unique_ptr<TextEncoder>> build_clip(const io::ModelPart& part, const std::string& component,
                                                ClipPooled pooled) {
  return Clip::build(part, component, pooled);
}

}  // namespace veneer::model
