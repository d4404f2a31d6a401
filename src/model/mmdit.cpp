// Building and running the shared parts of SD3 and FLUX.1.
#include "model/mmdit.h"

#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using nn::Bias;
using nn::LayerBuilder;

// Where the vectors of a block lie in the output of its modulation layer. The text's side of a last block and the final
// layer have two, scale first: the order of diffusers, which is that of the layers here.
constexpr int64_t kShift = 0, kScale = 1, kGate = 2, kShiftMlp = 3, kScaleMlp = 4, kGateMlp = 5;
constexpr int64_t kShiftSecond = 6, kScaleSecond = 7, kGateSecond = 8;
constexpr int64_t kLastScale = 0, kLastShift = 1;
constexpr int64_t kBlockVectors = 6, kDualVectors = 9, kLastVectors = 2;

}  // namespace

Tensor silu_of(nn::Context& context, const Tensor& x) {
  Tensor y = nn::copy(context, x);
  nn::activate_(context, y, device::Activation::kSilu);
  return y;
}

Result<int64_t> count_blocks(const io::WeightStore& store, const std::string& list, const std::string& member) {
  const std::string end = concat(".", member, ".weight");
  int64_t in_order = 0, all = 0;
  while (store.contains(concat(list, ".", in_order, end))) ++in_order;
  for (const auto& [name, entry] : store.entries()) all += name.starts_with(list + ".") && name.ends_with(end);
  if (in_order > 0 && in_order == all) return in_order;
  return Error{ErrorCode::kBadFile,
               concat(store.source(), ": has no ", list, ".", in_order, end, all > in_order ? ", but later blocks" : "",
                      ": the file is incomplete, download it again"),
               store.source()};
}

ConditionEmbedding::TwoLayers ConditionEmbedding::build(LayerBuilder& builder, const std::string& name, int64_t width) {
  const std::string path = "time_text_embed." + name;
  return {builder.linear(path + ".linear_1", width, LayerBuilder::kAny),
          builder.linear(path + ".linear_2", width, width)};
}

ConditionEmbedding::ConditionEmbedding(LayerBuilder& builder, int64_t width)
    : time_(build(builder, "timestep_embedder", width)), text_(build(builder, "text_embedder", width)) {
  if (builder.has("time_text_embed.guidance_embedder.linear_1")) guidance_ = build(builder, "guidance_embedder", width);
  for (const TwoLayers& layers : {time_, guidance_})
    if (layers.first && layers.first->weight.row_values() % 2 != 0)
      builder.fail({ErrorCode::kMismatch,
                    concat(layers.first->name, ": has ", layers.first->weight.row_values(),
                           " inputs, expected an even number, half of them cosines"),
                    layers.first->name});
}

Tensor ConditionEmbedding::run(nn::Context& context, const TwoLayers& layers, const Tensor& x) {
  Tensor hidden = nn::linear(context, *layers.first, x);
  nn::activate_(context, hidden, device::Activation::kSilu);
  return nn::linear(context, *layers.second, hidden);
}

Tensor ConditionEmbedding::forward(nn::Context& context, const Denoiser::Input& input) const {
  const auto batch = static_cast<size_t>(input.x.shape[0]);
  const std::vector<float> times(batch, input.timestep);
  Tensor embedded = run(context, time_, nn::sinusoid(context, times, time_.first->in()));
  if (takes_guidance()) {
    const std::vector<float> guidance(batch, 1000.0f * input.guidance);
    nn::add_(context, embedded, run(context, guidance_, nn::sinusoid(context, guidance, guidance_.first->in())));
  }
  nn::add_(context, embedded, run(context, text_, input.vector));
  return embedded;
}

Projections::Names Projections::image_names(const std::string& attention) {
  return {attention + ".to_q", attention + ".to_k", attention + ".to_v", attention + ".norm_q", attention + ".norm_k"};
}

Projections::Names Projections::text_names(const std::string& attention) {
  return {attention + ".add_q_proj", attention + ".add_k_proj", attention + ".add_v_proj", attention + ".norm_added_q",
          attention + ".norm_added_k"};
}

Projections::Projections(LayerBuilder& builder, const Names& names, const TransformerSizes& sizes)
    : q_(builder.linear(names.q, sizes.width, sizes.width)),
      k_(builder.linear(names.k, sizes.width, sizes.width)),
      v_(builder.linear(names.v, sizes.width, sizes.width)) {
  if (!sizes.normed) return;
  norm_q_ = builder.norm(names.norm_q, sizes.head_width, 1, Bias::kNone);
  norm_k_ = builder.norm(names.norm_k, sizes.head_width, 1, Bias::kNone);
}

Projections::Output Projections::forward(nn::Context& context, const Tensor& x) const {
  Output out{nn::linear(context, *q_, x), nn::linear(context, *k_, x), nn::linear(context, *v_, x)};
  if (norm_q_) {
    out.q = nn::rms_norm(context, *norm_q_, out.q, kTransformerEpsilon);
    out.k = nn::rms_norm(context, *norm_k_, out.k, kTransformerEpsilon);
  }
  return out;
}

Tensor attend(nn::Context& context, Projections::Output& projected, int64_t heads, const Rotation* rotation) {
  if (rotation) {
    nn::rotate_pairs_(context, projected.q, heads, rotation->cosines, rotation->sines);
    nn::rotate_pairs_(context, projected.k, heads, rotation->cosines, rotation->sines);
  }
  return nn::attention(context, projected.q, projected.k, projected.v, heads);
}

FeedForward::FeedForward(LayerBuilder& builder, const std::string& name, int64_t width)
    : first_(builder.linear(name + ".net.0.proj", LayerBuilder::kAny, width)),
      second_(builder.linear(name + ".net.2", width, first_->weight.rows())) {}

Tensor FeedForward::forward(nn::Context& context, const Tensor& x) const {
  Tensor hidden = nn::linear(context, *first_, x);
  nn::activate_(context, hidden, device::Activation::kGeluTanh);
  return nn::linear(context, *second_, hidden);
}

JointBlock::JointBlock(LayerBuilder& builder, const std::string& name, const TransformerSizes& sizes)
    : sizes_(sizes),
      image_(builder, Projections::image_names(name + ".attn"), sizes),
      text_(builder, Projections::text_names(name + ".attn"), sizes),
      image_out_{builder.linear(name + ".attn.to_out.0", sizes.width, sizes.width),
                 FeedForward(builder, name + ".ff", sizes.width)} {
  const int64_t width = sizes.width;
  const std::string second = name + ".attn2";
  if (builder.has(second + ".to_q"))
    second_.emplace(SelfAttention{Projections(builder, Projections::image_names(second), sizes),
                                  builder.linear(second + ".to_out.0", width, width)});
  if (builder.has(name + ".attn.to_add_out"))
    text_out_.emplace(Rest{builder.linear(name + ".attn.to_add_out", width, width),
                           FeedForward(builder, name + ".ff_context", width)});
  image_vectors_ = builder.linear(name + ".norm1.linear", (second_ ? kDualVectors : kBlockVectors) * width, width);
  text_vectors_ =
      builder.linear(name + ".norm1_context.linear", (text_out_ ? kBlockVectors : kLastVectors) * width, width);
}

void JointBlock::finish(nn::Context& context, const Rest& rest, Tensor& x, const Tensor& attended,
                        const Tensor& vectors) {
  nn::add_gated_(context, x, nn::linear(context, *rest.out, attended), vectors, kGate);
  const Tensor normed = nn::modulated_norm(context, x, vectors, kShiftMlp, kScaleMlp, kTransformerEpsilon);
  nn::add_gated_(context, x, rest.feed_forward.forward(context, normed), vectors, kGateMlp);
}

void JointBlock::forward(nn::Context& context, Tensor& image, Tensor& text, const Tensor& condition,
                         const Rotation* rotation) const {
  const Tensor image_vectors = nn::linear(context, *image_vectors_, condition);
  const Tensor text_vectors = nn::linear(context, *text_vectors_, condition);
  const int64_t text_tokens = text.shape[1], image_tokens = image.shape[1];

  Tensor attended;
  {
    const Tensor image_normed = nn::modulated_norm(context, image, image_vectors, kShift, kScale, kTransformerEpsilon);
    const Tensor text_normed = nn::modulated_norm(context, text, text_vectors, is_last() ? kLastShift : kShift,
                                                  is_last() ? kLastScale : kScale, kTransformerEpsilon);
    Projections::Output of_text = text_.forward(context, text_normed);
    const Projections::Output of_image = image_.forward(context, image_normed);
    of_text.q = nn::concat_tokens(context, of_text.q, of_image.q);
    of_text.k = nn::concat_tokens(context, of_text.k, of_image.k);
    of_text.v = nn::concat_tokens(context, of_text.v, of_image.v);
    attended = attend(context, of_text, sizes_.heads(), rotation);
  }
  if (second_) {
    // Both attentions read the image as it was before the block.
    const Tensor normed =
        nn::modulated_norm(context, image, image_vectors, kShiftSecond, kScaleSecond, kTransformerEpsilon);
    Projections::Output projected = second_->projections.forward(context, normed);
    const Tensor own = attend(context, projected, sizes_.heads(), nullptr);
    nn::add_gated_(context, image, nn::linear(context, *second_->out, own), image_vectors, kGateSecond);
  }
  finish(context, image_out_, image, nn::slice_tokens(context, attended, text_tokens, image_tokens), image_vectors);
  if (text_out_) finish(context, *text_out_, text, nn::slice_tokens(context, attended, 0, text_tokens), text_vectors);
}

FinalLayer::FinalLayer(LayerBuilder& builder, int64_t width)
    : vectors_(builder.linear("norm_out.linear", kLastVectors * width, width)),
      projection_(builder.linear("proj_out", LayerBuilder::kAny, width)) {}

Tensor FinalLayer::forward(nn::Context& context, const Tensor& x, const Tensor& condition) const {
  const Tensor vectors = nn::linear(context, *vectors_, condition);
  const Tensor normed = nn::modulated_norm(context, x, vectors, kLastShift, kLastScale, kTransformerEpsilon);
  return nn::linear(context, *projection_, normed);
}

}  // namespace veneer::model
