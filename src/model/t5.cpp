// Building and running a T5 encoder.
#include "model/t5.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/format.h"
#include "nn/builder.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using nn::Bias;
using nn::LayerBuilder;

constexpr int64_t kBuckets = 32;
constexpr int64_t kTrainedTokens = 512;
constexpr const char* kBiasTable = ".layer.0.SelfAttention.relative_attention_bias.weight";

std::string block_name(size_t i) { return concat("encoder.block.", i); }

struct Block {
  const nn::Layer *norm1, *q, *k, *v, *out, *norm2, *gate, *up, *down;

  Block(LayerBuilder& builder, const std::string& name, int64_t width) {
    const std::string attention = name + ".layer.0.SelfAttention", feed = name + ".layer.1.DenseReluDense";
    norm1 = builder.norm(name + ".layer.0.layer_norm", width, 1, Bias::kNone);
    q = builder.linear(attention + ".q", LayerBuilder::kAny, width, Bias::kNone);
    const int64_t inner = q->weight.rows();
    k = builder.linear(attention + ".k", inner, width, Bias::kNone);
    v = builder.linear(attention + ".v", inner, width, Bias::kNone);
    out = builder.linear(attention + ".o", width, inner, Bias::kNone);
    norm2 = builder.norm(name + ".layer.1.layer_norm", width, 1, Bias::kNone);
    gate = builder.linear(feed + ".wi_0", LayerBuilder::kAny, width, Bias::kNone);
    up = builder.linear(feed + ".wi_1", gate->weight.rows(), width, Bias::kNone);
    down = builder.linear(feed + ".wo", width, gate->weight.rows(), Bias::kNone);
  }
};

class T5 final : public TextEncoder {
 public:
  static Result<std::unique_ptr<TextEncoder>> build(const io::ModelPart& part, const std::string& component);
  Encoded encode(nn::Context& context, const Input& input) const override;
  int64_t width() const override { return tokens_->weight.row_values(); }
  int64_t positions() const override { return kTrainedTokens; }
  int64_t vocabulary() const override { return tokens_->weight.rows(); }
  int64_t depth() const override { return static_cast<int64_t>(blocks_.size()); }

 private:
  Status read_sizes(const io::ModelPart& part);
  Tensor relative_bias(nn::Context& context, int64_t count) const;
  void run_block(nn::Context& context, const Block& block, const nn::Scores& scores, Tensor& x) const;

  const nn::Layer *tokens_, *bias_table_, *final_norm_;
  std::vector<Block> blocks_;
  int64_t heads_ = 0;
  float epsilon_ = 1e-6f;
};

Status T5::read_sizes(const io::ModelPart& part) {
  VENEER_TRY(epsilon, json_number(part.config, "layer_norm_epsilon", 1e-6, part.source));
  epsilon_ = static_cast<float>(epsilon);
  heads_ = bias_table_->weight.row_values();
  for (const Block& block : blocks_)
    if (block.q->out() % heads_ != 0)
      return Error{ErrorCode::kMismatch,
                   concat(part.source, ": tensor ", block.q->weight.name, ": ", block.q->out(),
                          " outputs cannot be cut into ", heads_, " heads"),
                   part.source};
  return {};
}

Result<std::unique_ptr<TextEncoder>> T5::build(const io::ModelPart& part, const std::string& component) {
  auto t5 = std::unique_ptr<T5>(new T5());
  const io::WeightStore weights = t5_names(names_of(part.weights)).apply(part.weights);
  if (weights.contains(block_name(0) + ".layer.1.DenseReluDense.wi.weight"))
    return Error{
        ErrorCode::kUnsupported,
        concat(part.source, ": is a T5 of version 1.0 (plain feed-forward layers); give one of version 1.1, or T5-XXL"),
        part.source};
  LayerBuilder builder(weights, component, t5->layers_);
  t5->tokens_ = builder.embedding("shared.weight", LayerBuilder::kAny, LayerBuilder::kAny);
  const int64_t width = t5->width();
  t5->bias_table_ = builder.embedding(block_name(0) + kBiasTable, kBuckets, LayerBuilder::kAny);
  for (size_t i = 0; i == 0 || builder.has(block_name(i) + ".layer.0.SelfAttention.q"); ++i)
    t5->blocks_.emplace_back(builder, block_name(i), width);
  t5->final_norm_ = builder.norm("encoder.final_layer_norm", width, 1, Bias::kNone);
  VENEER_TRY_STATUS(builder.status());
  VENEER_TRY_STATUS(t5->read_sizes(part));
  t5->unused_ = builder.unused();
  return std::unique_ptr<TextEncoder>(std::move(t5));
}

// [heads, count, count]: what is added to the score of query i and key j depends on j - i alone.
Tensor T5::relative_bias(nn::Context& context, int64_t count) const {
  std::vector<int32_t> buckets;
  for (int64_t distance = 1 - count; distance < count; ++distance) buckets.push_back(t5_bucket(distance));
  const Tensor by_distance = nn::embed(context, *bias_table_, buckets);
  Tensor bias = context.arena.allocate({heads_, count, count});
  if (context.measuring()) return bias;
  for (int64_t head = 0; head < heads_; ++head)
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < count; ++j)
        bias.f32()[(head * count + i) * count + j] = by_distance.f32()[(j - i + count - 1) * heads_ + head];
  return bias;
}

void T5::run_block(nn::Context& context, const Block& block, const nn::Scores& scores, Tensor& x) const {
  Tensor a = nn::rms_norm(context, *block.norm1, x, epsilon_);
  {
    const Tensor q = nn::linear(context, *block.q, a);
    const Tensor k = nn::linear(context, *block.k, a);
    const Tensor v = nn::linear(context, *block.v, a);
    a = nn::attention(context, q, k, v, heads_, scores);
  }
  nn::add_(context, x, nn::linear(context, *block.out, a));
  a = nn::rms_norm(context, *block.norm2, x, epsilon_);
  Tensor gate = nn::linear(context, *block.gate, a);
  nn::activate_(context, gate, device::Activation::kGeluTanh);
  nn::multiply_(context, gate, nn::linear(context, *block.up, a));
  nn::add_(context, x, nn::linear(context, *block.down, gate));
}

TextEncoder::Encoded T5::encode(nn::Context& context, const Input& input) const {
  const auto count = static_cast<int64_t>(input.ids.size());
  VENEER_CHECK(count > 0 && input.skip >= 0 && input.skip <= depth() && !input.pooled);
  // The scores are not scaled: training has put the factor into the weights of the queries.
  const nn::Scores scores{.key_mask = input.key_mask, .bias = relative_bias(context, count), .scale = 1.0f};
  Tensor x = nn::embed(context, *tokens_, input.ids, input.extra_rows).reshaped({1, count, width()});
  for (size_t i = 0; i + static_cast<size_t>(input.skip) < blocks_.size(); ++i)
    run_block(context, blocks_[i], scores, x);
  return {input.final_norm ? nn::rms_norm(context, *final_norm_, x, epsilon_) : x, {}};
}

}  // namespace

int32_t t5_bucket(int64_t distance) {
  constexpr int32_t kOneWay = kBuckets / 2, kExact = kOneWay / 2;
  constexpr double kFurthest = 128;
  const int32_t side = distance > 0 ? kOneWay : 0;
  const int64_t steps = std::abs(distance);
  if (steps < kExact) return side + static_cast<int32_t>(steps);
  const double octaves = std::log(static_cast<double>(steps) / kExact) / std::log(kFurthest / kExact);
  // 16, 32 and 64 lie exactly on a border; the addend keeps rounding from putting them below it.
  const auto further = static_cast<int32_t>(std::min(octaves, 1.0) * (kOneWay - kExact) + 1e-6);
  return side + std::min(kOneWay - 1, kExact + further);
}

NameMap t5_names(const NameSet& names) {
  NameMap map;
  if (!names.contains("shared.weight")) map.add("encoder.embed_tokens", "shared");  // some files keep this name alone
  map.add("token_embd", "shared");
  map.add("enc.output_norm", "encoder.final_layer_norm");
  for (size_t i = 0; has_prefix(names, concat("enc.blk.", i, ".")); ++i) {
    const std::string from = concat("enc.blk.", i), to = block_name(i);
    for (const char* letter : {"q", "k", "v", "o"})
      map.add(concat(from, ".attn_", letter), concat(to, ".layer.0.SelfAttention.", letter));
    map.add(from + ".attn_rel_b", to + ".layer.0.SelfAttention.relative_attention_bias");
    map.add(from + ".attn_norm", to + ".layer.0.layer_norm");
    map.add(from + ".ffn_gate", to + ".layer.1.DenseReluDense.wi_0");
    map.add(from + ".ffn_up", to + ".layer.1.DenseReluDense.wi_1");
    map.add(from + ".ffn_down", to + ".layer.1.DenseReluDense.wo");
    map.add(from + ".ffn_norm", to + ".layer.1.layer_norm");
  }
  return map;
}

Result<std::unique_ptr<TextEncoder>> build_t5(const io::ModelPart& part, const std::string& component) {
  return T5::build(part, component);
}

}  // namespace veneer::model
