// Building and running the SD3 denoiser from canonical names.
#include "model/sd3.h"

#include <cmath>

#include "model/mmdit.h"
#include "model/sd3_names.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using nn::LayerBuilder;

constexpr std::string_view kPositions = "pos_embed.pos_embed";  // [1, side * side, width]

// The position table as a matrix, which is what it is for one picture.
io::WeightStore with_positions_as_matrix(const io::WeightStore& store) {
  const io::Entry* table = store.find(kPositions);
  if (!table || table->weight.shape.rank() != 3 || table->weight.shape[0] != 1) return store;
  io::Entry matrix = *table;
  matrix.weight.shape = {table->weight.shape[1], table->weight.shape[2]};
  return store.layered(io::WeightStore({{std::string(kPositions), std::move(matrix)}}, {}, {}));
}

Status refuse_other_norms(const io::ModelPart& part) {
  for (const auto& [name, entry] : part.weights.entries())
    if (name.ends_with("ln_q.bias") || name.ends_with("norm_q.bias"))
      return Error{ErrorCode::kUnsupported,
                   concat(part.source, ": tensor ", name,
                          ": the model takes layer norms of its queries and keys; only root-mean-square norms are "
                          "supported"),
                   part.source};
  return {};
}

class Sd3 final : public Denoiser {
 public:
  static Result<std::unique_ptr<Denoiser>> build(const io::ModelPart& part, const io::WeightStore& weights);
  Tensor forward(nn::Context& context, const Input& input) const override;
  int64_t input_channels() const override { return patch_->in(); }
  int64_t latent_channels() const override { return final_.out() / patch_->kernel_size(); }
  int64_t context_width() const override { return text_in_->in(); }
  int64_t vector_width() const override { return embedding_.vector_width(); }
  int64_t size_multiple() const override { return patch_->kernel(); }
  int64_t largest_side() const override { return table_side_ * patch_->kernel(); }

 private:
  Status build_blocks(LayerBuilder& builder, const io::ModelPart& part, const io::WeightStore& weights);
  Tensor patches(nn::Context& context, const Tensor& x) const;

  TransformerSizes sizes_;
  int64_t table_side_ = 0;
  const nn::Layer *patch_, *positions_, *text_in_;
  ConditionEmbedding embedding_;
  std::vector<JointBlock> blocks_;
  FinalLayer final_;
};

// Heads are 64 wide in all published models; norms show their width, and a config says it of others.
Result<int64_t> head_width(const LayerBuilder& builder, const io::ModelPart& part) {
  if (const Shape norm = builder.shape_of("transformer_blocks.0.attn.norm_q"); norm.rank() == 1) return norm[0];
  return json_integer(part.config, "attention_head_dim", 64, part.source);
}

Status Sd3::build_blocks(LayerBuilder& builder, const io::ModelPart& part, const io::WeightStore& weights) {
  VENEER_TRY(width, head_width(builder, part));
  sizes_.head_width = width;
  sizes_.normed = builder.has("transformer_blocks.0.attn.norm_q");
  if (width < 1 || sizes_.width % width != 0)
    return Error{ErrorCode::kMismatch,
                 concat(part.source, ": a width of ", sizes_.width, " cannot be cut into heads of ", width),
                 part.source};
  VENEER_TRY(count, count_blocks(weights, "transformer_blocks", "attn.add_q_proj"));
  for (int64_t i = 0; i < count; ++i) blocks_.emplace_back(builder, concat("transformer_blocks.", i), sizes_);
  for (int64_t i = 0; i < count; ++i)
    if (blocks_[static_cast<size_t>(i)].is_last() != (i == count - 1))
      builder.fail({ErrorCode::kMismatch,
                    concat(part.source, ": transformer_blocks.", i,
                           ": only the last block, and that one always, has no output for the text (are blocks "
                           "missing?)"),
                    part.source});
  return builder.status();
}

Result<std::unique_ptr<Denoiser>> Sd3::build(const io::ModelPart& part, const io::WeightStore& weights) {
  auto sd3 = std::unique_ptr<Sd3>(new Sd3());
  LayerBuilder builder(weights, "transformer", sd3->layers_);
  const Shape patch = builder.shape_of("pos_embed.proj");
  const int64_t side = patch.rank() == 4 ? patch[2] : 2;
  sd3->patch_ = builder.conv2d("pos_embed.proj", LayerBuilder::kAny, LayerBuilder::kAny, side, {.stride = side});
  const int64_t width = sd3->sizes_.width = sd3->patch_->weight.rows();
  sd3->positions_ = builder.embedding(std::string(kPositions), LayerBuilder::kAny, width);
  sd3->text_in_ = builder.linear("context_embedder", width, LayerBuilder::kAny);
  sd3->embedding_ = ConditionEmbedding(builder, width);
  sd3->final_ = FinalLayer(builder, width);
  VENEER_TRY_STATUS(builder.status());
  VENEER_TRY_STATUS(sd3->build_blocks(builder, part, weights));

  const int64_t positions = sd3->positions_->out();
  sd3->table_side_ = std::llround(std::sqrt(static_cast<double>(positions)));
  if (sd3->table_side_ * sd3->table_side_ != positions || sd3->final_.out() != sd3->patch_->weight.row_values())
    return Error{ErrorCode::kMismatch,
                 concat(part.source,
                        ": expected a square table of positions and as many numbers of a patch out as in, "
                        "found ",
                        positions, " positions, ", sd3->patch_->weight.row_values(), " numbers in and ",
                        sd3->final_.out(), " out"),
                 part.source};
  sd3->unused_ = builder.unused();
  return std::unique_ptr<Denoiser>(std::move(sd3));
}

// [batch, height, width, channels] -> [batch, tokens, width of the network], with the middle of the position table
// added.
Tensor Sd3::patches(nn::Context& context, const Tensor& x) const {
  Tensor map = nn::conv2d(context, *patch_, x);
  const int64_t batch = map.shape[0], rows = map.shape[1], columns = map.shape[2];
  VENEER_CHECK(rows <= table_side_ && columns <= table_side_);
  const int64_t top = (table_side_ - rows) / 2, left = (table_side_ - columns) / 2;
  std::vector<int32_t> places;
  for (int64_t row = top; row < top + rows; ++row)
    for (int64_t column = left; column < left + columns; ++column)
      places.push_back(static_cast<int32_t>(row * table_side_ + column));
  const Tensor positions = nn::embed(context, *positions_, places);
  // The same for every picture: to add_vector_, pictures are the pixels of one, and its channels all numbers of them.
  Tensor pictures = map.reshaped({1, batch, positions.elements()});
  nn::add_vector_(context, pictures, positions);
  return map.reshaped({batch, rows * columns, sizes_.width});
}

Tensor Sd3::forward(nn::Context& context, const Input& input) const {
  const int64_t side = patch_->kernel();
  const Tensor condition = silu_of(context, embedding_.forward(context, input));
  Tensor image = patches(context, input.x);
  Tensor text = nn::linear(context, *text_in_, input.context);
  for (const JointBlock& block : blocks_) block.forward(context, image, text, condition, nullptr);
  return nn::unpatch(context, final_.forward(context, image, condition), input.x.shape[1] / side,
                     input.x.shape[2] / side, side, latent_channels());
}

}  // namespace

bool is_sd3(const io::ModelPart& part) {
  const io::Entry* patch = part.weights.find("pos_embed.proj.weight");
  return is_original_sd3(part.weights) ||
         (part.weights.contains("transformer_blocks.0.attn.add_q_proj.weight") && patch &&
          patch->weight.shape.rank() == 4 && !has_prefix(part.weights, "single_transformer_blocks."));
}

Result<std::unique_ptr<Denoiser>> build_sd3(const io::ModelPart& part) {
  VENEER_TRY_STATUS(refuse_other_norms(part));
  const io::WeightStore& stored = part.weights;
  return Sd3::build(
      part, with_positions_as_matrix(is_original_sd3(stored) ? original_sd3_names(stored).apply(stored) : stored));
}

}  // namespace veneer::model
