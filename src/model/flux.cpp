// Building and running the FLUX.1 denoiser from canonical names.
#include "model/flux.h"

#include <algorithm>
#include <cmath>

#include "model/flux_names.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using nn::LayerBuilder;

constexpr int64_t kPatchSide = 2;
constexpr int64_t kHeadMultiple = 32;  // so that all axes of the rotation are of even width
constexpr double kRotationBase = 10000.0;
constexpr float kTimeUnits = 1000;  // the embedding is of 1000 sigma
// Vectors of a single block.
constexpr int64_t kShift = 0, kScale = 1, kGate = 2, kVectors = 3;
constexpr std::string_view kGuidance = "time_text_embed.guidance_embedder.linear_1.weight",
                           kOriginalGuidance = "guidance_in.in_layer.weight";

class Flux final : public Denoiser {
 public:
  static Result<std::unique_ptr<Denoiser>> build(const io::ModelPart& part, const io::WeightStore& weights);
  Tensor forward(nn::Context& context, const Input& input) const override;
  int64_t input_channels() const override { return image_in_->in() / (kPatchSide * kPatchSide); }
  int64_t latent_channels() const override { return final_.out() / (kPatchSide * kPatchSide); }
  int64_t context_width() const override { return text_in_->in(); }
  int64_t vector_width() const override { return embedding_.vector_width(); }
  bool takes_guidance() const override { return embedding_.takes_guidance(); }
  int64_t size_multiple() const override { return kPatchSide; }

 private:
  TransformerSizes sizes_;
  const nn::Layer *image_in_, *text_in_;
  ConditionEmbedding embedding_;
  std::vector<JointBlock> joint_;
  std::vector<SingleBlock> single_;
  FinalLayer final_;
};

Status check_sizes(const io::ModelPart& part, const TransformerSizes& sizes) {
  if (sizes.head_width > 0 && sizes.head_width % kHeadMultiple == 0 && sizes.width % sizes.head_width == 0) return {};
  return Error{ErrorCode::kMismatch,
               concat(part.source, ": a width of ", sizes.width, " cannot be cut into heads of ", sizes.head_width,
                      ", which must be a multiple of ", kHeadMultiple),
               part.source};
}

// Variants of the network whose first layer takes more than the latent.
Status check_inputs(const io::ModelPart& part, int64_t in, int64_t out) {
  if (in == out && out % (kPatchSide * kPatchSide) == 0) return {};
  const std::string_view kind = in == 2 * out ? ": networks that take a control image (Depth, Canny) are not supported"
                                : in == 6 * out ? ": networks that take a mask (Fill) are not supported"
                                                : "";
  return Error{ErrorCode::kUnsupported,
               concat(part.source, ": the first layer takes ", in, " numbers a token and the last one gives ", out,
                      ", expected four for each latent channel in both", kind),
               part.source};
}

Result<std::unique_ptr<Denoiser>> Flux::build(const io::ModelPart& part, const io::WeightStore& weights) {
  auto flux = std::unique_ptr<Flux>(new Flux());
  LayerBuilder builder(weights, "transformer", flux->layers_);
  flux->image_in_ = builder.linear("x_embedder", LayerBuilder::kAny, LayerBuilder::kAny);
  TransformerSizes& sizes = flux->sizes_;
  sizes.width = flux->image_in_->weight.rows();
  flux->text_in_ = builder.linear("context_embedder", sizes.width, LayerBuilder::kAny);
  flux->embedding_ = ConditionEmbedding(builder, sizes.width);
  flux->final_ = FinalLayer(builder, sizes.width);
  VENEER_TRY_STATUS(builder.status());
  VENEER_TRY_STATUS(check_inputs(part, flux->image_in_->in(), flux->final_.out()));
  if (const Shape norm = builder.shape_of("transformer_blocks.0.attn.norm_q"); norm.rank() == 1)
    sizes.head_width = norm[0];
  VENEER_TRY_STATUS(check_sizes(part, sizes));

  VENEER_TRY(joint, count_blocks(weights, "transformer_blocks", "attn.add_q_proj"));
  VENEER_TRY(single, count_blocks(weights, "single_transformer_blocks", "proj_mlp"));
  for (int64_t i = 0; i < joint; ++i) flux->joint_.emplace_back(builder, concat("transformer_blocks.", i), sizes);
  for (int64_t i = 0; i < single; ++i)
    flux->single_.emplace_back(builder, concat("single_transformer_blocks.", i), sizes);
  VENEER_TRY_STATUS(builder.status());
  if (std::ranges::any_of(flux->joint_, &JointBlock::is_last))
    return Error{ErrorCode::kBadFile,
                 concat(part.source,
                        ": a joint block has no output for the text (attn.to_add_out): the file is "
                        "incomplete, download it again"),
                 part.source};
  flux->unused_ = builder.unused();
  return std::unique_ptr<Denoiser>(std::move(flux));
}

Tensor Flux::forward(nn::Context& context, const Input& input) const {
  const int64_t height = input.x.shape[1], width = input.x.shape[2];
  Input with_time = input;
  with_time.timestep *= kTimeUnits;
  const Tensor condition = silu_of(context, embedding_.forward(context, with_time));
  Tensor image = nn::linear(context, *image_in_, pack_latent(context, input.x));
  Tensor text = nn::linear(context, *text_in_, input.context);
  const int64_t text_tokens = text.shape[1], image_tokens = image.shape[1];
  const Rotation rotation =
      flux_rotation(context, text_tokens, height / kPatchSide, width / kPatchSide, sizes_.head_width);
  for (const JointBlock& block : joint_) block.forward(context, image, text, condition, &rotation);

  Tensor both = nn::concat_tokens(context, text, image);
  image = text = {};
  for (const SingleBlock& block : single_) block.forward(context, both, condition, rotation);
  image = nn::slice_tokens(context, both, text_tokens, image_tokens);
  return unpack_latent(context, final_.forward(context, image, condition), height, width);
}

// Calls body(i, j) for number `i` of the map and `j` of the tokens, which are the same one.
template <typename Body>
void for_numbers(const Shape& map, const Body& body) {
  constexpr int64_t kPixels = kPatchSide * kPatchSide;
  const int64_t width = map[2], channels = map[3];
  for (int64_t row = 0, i = 0; row < map[0] * map[1]; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const int64_t token = row / kPatchSide * (width / kPatchSide) + column / kPatchSide;
      const int64_t first = token * kPixels * channels + row % kPatchSide * kPatchSide + column % kPatchSide;
      for (int64_t c = 0; c < channels; ++c, ++i) body(i, first + c * kPixels);
    }
}

}  // namespace

Tensor pack_latent(nn::Context& context, const Tensor& map) {
  const Shape& shape = map.shape;
  VENEER_CHECK(shape[1] % kPatchSide == 0 && shape[2] % kPatchSide == 0);
  Tensor tokens = context.arena.allocate(
      {shape[0], shape[1] / kPatchSide * (shape[2] / kPatchSide), kPatchSide * kPatchSide * shape[3]});
  if (context.measuring()) return tokens;
  for_numbers(shape, [from = map.f32(), to = tokens.f32()](int64_t i, int64_t j) { to[j] = from[i]; });
  return tokens;
}

Tensor unpack_latent(nn::Context& context, const Tensor& tokens, int64_t height, int64_t width) {
  const int64_t batch = tokens.shape[0], channels = tokens.shape.back() / (kPatchSide * kPatchSide);
  VENEER_CHECK(tokens.elements() == batch * height * width * channels);
  Tensor map = context.arena.allocate({batch, height, width, channels});
  if (context.measuring()) return map;
  for_numbers(map.shape, [from = tokens.f32(), to = map.f32()](int64_t i, int64_t j) { to[i] = from[j]; });
  return map;
}

SingleBlock::SingleBlock(LayerBuilder& builder, const std::string& name, const TransformerSizes& sizes)
    : sizes_(sizes),
      vectors_(builder.linear(name + ".norm.linear", kVectors * sizes.width, sizes.width)),
      inner_(builder.linear(name + ".proj_mlp", LayerBuilder::kAny, sizes.width)),
      out_(builder.linear(name + ".proj_out", sizes.width, sizes.width + inner_->weight.rows())),
      projections_(builder, Projections::image_names(name + ".attn"), sizes) {}

void SingleBlock::forward(nn::Context& context, Tensor& x, const Tensor& condition, const Rotation& rotation) const {
  const Tensor vectors = nn::linear(context, *vectors_, condition);
  Tensor joined;
  {
    const Tensor normed = nn::modulated_norm(context, x, vectors, kShift, kScale, kTransformerEpsilon);
    Projections::Output projected = projections_.forward(context, normed);
    const Tensor attended = attend(context, projected, sizes_.heads(), &rotation);
    projected = {};
    Tensor inner = nn::linear(context, *inner_, normed);
    nn::activate_(context, inner, device::Activation::kGeluTanh);
    joined = nn::concat_channels(context, attended, inner);
  }
  nn::add_gated_(context, x, nn::linear(context, *out_, joined), vectors, kGate);
}

Rotation flux_rotation(nn::Context& context, int64_t text_tokens, int64_t rows, int64_t columns, int64_t head_width) {
  const int64_t axis = 7 * head_width / 16, half = head_width / 2, first = half - axis;  // `first` pairs stand still
  const Shape shape{text_tokens + rows * columns, half};
  Rotation rotation{context.arena.allocate(shape), context.arena.allocate(shape)};
  if (context.measuring()) return rotation;
  std::fill_n(rotation.cosines.f32(), shape.elements(), 1.0f);
  std::fill_n(rotation.sines.f32(), shape.elements(), 0.0f);
  for (int64_t token = 0; token < rows * columns; ++token) {
    const int64_t begin = (text_tokens + token) * half + first;
    for (int64_t i = 0; i < axis; ++i) {
      const int64_t pair = i % (axis / 2);
      const auto place = static_cast<double>(i < axis / 2 ? token / columns : token % columns);
      const double angle =
          place * std::pow(kRotationBase, -2.0 * static_cast<double>(pair) / static_cast<double>(axis));
      rotation.cosines.f32()[begin + i] = static_cast<float>(std::cos(angle));
      rotation.sines.f32()[begin + i] = static_cast<float>(std::sin(angle));
    }
  }
  return rotation;
}

bool is_flux(const io::ModelPart& part) {
  const auto has = [&](std::string_view name) { return part.weights.contains(name); };
  return (has("double_blocks.0.img_attn.norm.key_norm.scale") && has("vector_in.in_layer.weight")) ||
         (has("single_transformer_blocks.0.proj_mlp.weight") && has("time_text_embed.text_embedder.linear_1.weight"));
}

bool is_guided_flux(const io::ModelPart& part) {
  return is_flux(part) && (part.weights.contains(kGuidance) || part.weights.contains(kOriginalGuidance));
}

Result<std::unique_ptr<Denoiser>> build_flux(const io::ModelPart& part) {
  const io::WeightStore& stored = part.weights;
  return Flux::build(part, is_original_flux(stored) ? original_flux_names(stored).apply(stored) : stored);
}

}  // namespace veneer::model
