// Building and running a UNet from canonical names.
#include "model/unet.h"

#include <algorithm>
#include <cmath>

#include "model/unet_blocks.h"
#include "model/unet_names.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using device::ConvGeometry;
using nn::LayerBuilder;

constexpr float kOutEpsilon = 1e-5f;

// Heads are not in the shapes. The folder's config names their number (its key "attention_head_dim" holds the number of
// heads, one for all levels or one per down level); without one, SD 1.x has eight everywhere and later families heads
// 64 wide.
struct HeadRule {
  std::vector<int64_t> per_level;
  int64_t context_width = 0;
  int64_t heads(int64_t width, size_t level) const {
    if (!per_level.empty()) return per_level[std::min(level, per_level.size() - 1)];
    return context_width == 768 ? 8 : width / 64;
  }
};

Result<HeadRule> read_heads(const io::ModelPart& part, int64_t context_width) {
  HeadRule rule{{}, context_width};
  if (!part.config.is_object()) return rule;
  for (const char* key : {"num_attention_heads", "attention_head_dim"}) {
    const auto found = part.config.find(key);
    if (found == part.config.end() || found->is_null()) continue;
    const Json list = found->is_array() ? *found : Json::array({*found});
    for (const Json& value : list) {
      if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > 1024)
        return Error{
            ErrorCode::kBadFile,
            concat(part.source, ": config.json: \"", key, "\" must hold numbers of heads, found ", found->dump()),
            part.source};
      rule.per_level.push_back(value.get<int64_t>());
    }
    if (!rule.per_level.empty()) return rule;
  }
  return rule;
}

// What is recognised as a UNet and yet is none that this code can run.
Status refuse_other_unets(const io::ModelPart& part) {
  const auto refuse = [&](std::string_view reason) {
    return Error{ErrorCode::kUnsupported, concat(part.source, ": ", reason), part.source};
  };
  for (const auto& [name, entry] : part.weights.entries()) {
    if (contains(name, "time_mixer.mix_factor") || contains(name, "temporal_transformer"))
      return refuse("is a video model; only still pictures are supported");
    if (name == "label_emb.weight" || name == "class_embedding.weight")
      return refuse("is a class-conditional upscaler, which is not supported");
  }
  return {};
}

class UNet final : public Denoiser {
 public:
  static Result<std::unique_ptr<Denoiser>> build(const io::ModelPart& part, const io::WeightStore& weights);
  Tensor forward(nn::Context& context, const Input& input) const override;
  int64_t input_channels() const override { return conv_in_->in(); }
  int64_t latent_channels() const override { return conv_out_->out(); }
  int64_t context_width() const override { return sizes_.context_width; }
  int64_t vector_width() const override { return added1_ ? added1_->in() : 0; }
  bool takes_guidance() const override { return guidance_ != nullptr; }

 private:
  struct Level {
    std::vector<UNetStage> stages;
    const nn::Layer* resample = nullptr;
  };
  // Where building stands: the width and resolution (times halved) of the running map, and the maps that wait to be
  // joined.
  struct Skip {
    int64_t width;
    int halvings;
  };
  struct Way {
    Skip now;
    std::vector<Skip> skips;
  };

  Level build_level(LayerBuilder& builder, const std::string& name, Way& way, size_t level, const HeadRule& heads);
  UNetStage build_stage(LayerBuilder& builder, const std::string& block, size_t index, int64_t in, size_t level,
                        const HeadRule& heads);
  Status build_blocks(LayerBuilder& builder, const HeadRule& heads);
  void build_embeddings(LayerBuilder& builder);
  Status check_inputs(const std::string& source) const;
  Tensor time_embedding(nn::Context& context, const Input& input) const;

  UNetSizes sizes_;
  const nn::Layer *conv_in_, *time1_, *time2_, *norm_out_, *conv_out_;
  const nn::Layer *added1_ = nullptr, *added2_ = nullptr;  // of the vector
  const nn::Layer* guidance_ = nullptr;                    // of models distilled with guidance
  std::vector<Level> down_, up_;
  std::vector<UNetStage> mid_;
};

int64_t depth_of(const LayerBuilder& builder, const std::string& attention) {
  int64_t depth = 0;
  while (builder.has(concat(attention, ".transformer_blocks.", depth, ".attn1.to_q"))) ++depth;
  return depth;
}

UNetStage UNet::build_stage(LayerBuilder& builder, const std::string& block, size_t index, int64_t in, size_t level,
                            const HeadRule& heads) {
  UNetStage stage{ResidualBlock(builder, concat(block, ".resnets.", index), in, sizes_), std::nullopt};
  const std::string attention = concat(block, ".attentions.", index);
  const int64_t width = stage.residual.out();
  if (const int64_t depth = depth_of(builder, attention); depth > 0 && width > 0) {
    const int64_t count = heads.heads(width, level);
    if (count < 1 || width % count != 0)
      builder.fail({ErrorCode::kMismatch,
                    concat(attention, ": ", width, " channels cannot be cut into ", count, " heads"), attention});
    stage.attention.emplace(builder, attention, width, depth, std::max<int64_t>(count, 1), sizes_);
  }
  return stage;
}

// One level of the way down, or of the way up, where each residual block takes a skip.
UNet::Level UNet::build_level(LayerBuilder& builder, const std::string& name, Way& way, size_t level,
                              const HeadRule& heads) {
  const bool up = name.starts_with("up");
  const auto misfit = [&](std::string_view what) {
    builder.fail({ErrorCode::kMismatch, concat(name, ": ", what), name});
  };
  Level built;
  for (size_t j = 0; builder.has(concat(name, ".resnets.", j, ".conv1")); ++j) {
    int64_t in = way.now.width;
    if (up) {
      if (way.skips.empty() || way.skips.back().halvings != way.now.halvings) {
        misfit("has no skip of its size left from the way down");
        break;
      }
      in += way.skips.back().width;
      way.skips.pop_back();
    }
    built.stages.push_back(build_stage(builder, name, j, in, level, heads));
    way.now.width = built.stages.back().residual.out();
    if (!up) way.skips.push_back(way.now);
  }
  const std::string down_conv = name + ".downsamplers.0.conv", up_conv = name + ".upsamplers.0.conv";
  if (!up && builder.has(down_conv)) {
    built.resample = builder.conv2d(down_conv, way.now.width, way.now.width, 3, ConvGeometry::same(3, 2));
    ++way.now.halvings;
    way.skips.push_back(way.now);
  }
  if (up && builder.has(up_conv)) {
    built.resample = builder.conv2d(up_conv, way.now.width, way.now.width, 3, ConvGeometry::same(3));
    --way.now.halvings;
    if (way.skips.empty() || way.skips.back().halvings != way.now.halvings)
      misfit("enlarges beyond the skips that are left");
  }
  return built;
}

Status UNet::build_blocks(LayerBuilder& builder, const HeadRule& heads) {
  Way way{{conv_in_->weight.rows(), 0}, {{conv_in_->weight.rows(), 0}}};
  for (size_t i = 0; builder.has(concat("down_blocks.", i, ".resnets.0.conv1")); ++i)
    down_.push_back(build_level(builder, concat("down_blocks.", i), way, i, heads));
  const size_t last = down_.empty() ? 0 : down_.size() - 1;
  for (size_t j = 0; builder.has(concat("mid_block.resnets.", j, ".conv1")); ++j) {
    mid_.push_back(build_stage(builder, "mid_block", j, way.now.width, last, heads));
    way.now.width = mid_.back().residual.out();
  }
  for (size_t i = 0; builder.has(concat("up_blocks.", i, ".resnets.0.conv1")); ++i)
    up_.push_back(build_level(builder, concat("up_blocks.", i), way, last - std::min(i, last), heads));
  VENEER_TRY_STATUS(builder.status());
  if (down_.empty() || up_.size() != down_.size() || !way.skips.empty() || way.now.width != norm_out_->out())
    return Error{ErrorCode::kMismatch,
                 concat("the UNet's blocks do not form a whole: ", down_.size(), " levels down, ", up_.size(), " up, ",
                        way.skips.size(), " skips left over, ", way.now.width, " channels at the end"),
                 "unet"};
  return {};
}

void UNet::build_embeddings(LayerBuilder& builder) {
  time1_ = builder.linear("time_embedding.linear_1", LayerBuilder::kAny, LayerBuilder::kAny);
  sizes_.time_width = time1_->weight.rows();
  time2_ = builder.linear("time_embedding.linear_2", sizes_.time_width, sizes_.time_width);
  const auto want_even = [&](const nn::Layer& layer) {
    if (layer.in() % 2 != 0)
      builder.fail({ErrorCode::kMismatch,
                    concat(layer.weight.name, ": has ", layer.in(), " inputs, expected an even number"),
                    layer.weight.name});
  };
  want_even(*time1_);
  if (builder.has("add_embedding.linear_1")) {
    added1_ = builder.linear("add_embedding.linear_1", LayerBuilder::kAny, LayerBuilder::kAny);
    added2_ = builder.linear("add_embedding.linear_2", sizes_.time_width, added1_->weight.rows());
  }
  if (builder.has("time_embedding.cond_proj")) {
    guidance_ = builder.linear("time_embedding.cond_proj", time1_->in(), LayerBuilder::kAny, nn::Bias::kNone);
    want_even(*guidance_);
  }
}

// Text to picture, inpainting (a mask and a picture's latent more) or editing (a latent more).
Status UNet::check_inputs(const std::string& source) const {
  const int64_t latent = latent_channels();
  for (const int64_t taken : {latent, 2 * latent + 1, 2 * latent})
    if (input_channels() == taken) return {};
  return Error{ErrorCode::kUnsupported,
               concat(source, ": the UNet takes ", input_channels(), " input channels, expected ", latent, ", ",
                      2 * latent + 1, " (inpainting) or ", 2 * latent, " (editing)"),
               source};
}

Result<std::unique_ptr<Denoiser>> UNet::build(const io::ModelPart& part, const io::WeightStore& weights) {
  auto unet = std::unique_ptr<UNet>(new UNet());
  VENEER_TRY(groups, json_integer(part.config, "norm_num_groups", 32, part.source));
  if (groups < 1)
    return Error{ErrorCode::kBadFile, concat(part.source, ": config.json: \"norm_num_groups\" must be positive"),
                 part.source};
  unet->sizes_.groups = groups;
  unet->sizes_.context_width = unet_context_width(weights);
  VENEER_TRY(heads, read_heads(part, unet->sizes_.context_width));

  LayerBuilder builder(weights, "unet", unet->layers_);
  unet->conv_in_ = builder.conv2d("conv_in", LayerBuilder::kAny, LayerBuilder::kAny, 3, ConvGeometry::same(3));
  unet->build_embeddings(builder);
  unet->norm_out_ = builder.norm(
      "conv_norm_out", builder.shape_of("conv_out").rank() == 4 ? builder.shape_of("conv_out")[1] : LayerBuilder::kAny,
      groups);
  unet->conv_out_ = builder.conv2d("conv_out", LayerBuilder::kAny, LayerBuilder::kAny, 3, ConvGeometry::same(3));
  VENEER_TRY_STATUS(builder.status());
  VENEER_TRY_STATUS(unet->build_blocks(builder, heads));
  VENEER_TRY_STATUS(unet->check_inputs(part.source));
  unet->unused_ = builder.unused();
  return std::unique_ptr<Denoiser>(std::move(unet));
}

// Luo et al. 2023, "Latent consistency models": sines before cosines, and the last frequency is 1 / 10000 itself.
Tensor guidance_sinusoid(nn::Context& context, float guidance, int64_t batch, int64_t width) {
  const int64_t half = width / 2;
  Tensor out = context.arena.allocate({batch, width});
  if (context.measuring()) return out;
  const double w = 1000.0 * (static_cast<double>(guidance) - 1.0);
  for (int64_t i = 0; i < half; ++i) {
    const double place = half > 1 ? static_cast<double>(i) / static_cast<double>(half - 1) : 0.0;
    const double angle = w * std::exp(-std::log(10000.0) * place);
    for (int64_t b = 0; b < batch; ++b) {
      out.f32()[b * width + i] = static_cast<float>(std::sin(angle));
      out.f32()[b * width + half + i] = static_cast<float>(std::cos(angle));
    }
  }
  return out;
}

Tensor UNet::time_embedding(nn::Context& context, const Input& input) const {
  const int64_t batch = input.x.shape[0];
  const auto two_layers = [&](const nn::Layer& first, const nn::Layer& second, const Tensor& x) {
    Tensor inner = nn::linear(context, first, x);
    nn::activate_(context, inner, device::Activation::kSilu);
    return nn::linear(context, second, inner);
  };
  const std::vector<float> times(static_cast<size_t>(batch), input.timestep);
  Tensor time = nn::sinusoid(context, times, time1_->in());
  if (guidance_)
    nn::add_(context, time,
             nn::linear(context, *guidance_, guidance_sinusoid(context, input.guidance, batch, guidance_->in())));
  time = two_layers(*time1_, *time2_, time);
  if (added1_) nn::add_(context, time, two_layers(*added1_, *added2_, input.vector));
  nn::activate_(context, time, device::Activation::kSilu);  // every residual block starts with it
  return time;
}

Tensor UNet::forward(nn::Context& context, const Input& input) const {
  const Tensor time = time_embedding(context, input);
  Tensor x = nn::conv2d(context, *conv_in_, input.x);
  std::vector<Tensor> skips{x};
  for (const Level& level : down_) {
    for (const UNetStage& stage : level.stages) skips.push_back(x = stage.forward(context, x, time, input.context));
    if (level.resample) skips.push_back(x = nn::conv2d(context, *level.resample, x));
  }
  for (const UNetStage& stage : mid_) x = stage.forward(context, x, time, input.context);
  for (const Level& level : up_) {
    for (const UNetStage& stage : level.stages) {
      x = nn::concat_channels(context, x, skips.back());
      skips.pop_back();
      x = stage.forward(context, x, time, input.context);
    }
    if (level.resample) {
      // A level of odd size came out one row or column larger when halved and doubled: cut to the skip it meets next.
      const Shape& target = skips.back().shape;
      x = nn::conv2d(context, *level.resample, nn::upsample(context, x, target[1], target[2]));
    }
  }
  x = nn::group_norm(context, *norm_out_, x, sizes_.groups, kOutEpsilon, true);
  return nn::conv2d(context, *conv_out_, x);
}

}  // namespace

int64_t unet_context_width(const io::WeightStore& store) {
  for (const auto& [name, entry] : store.entries())
    if (name.ends_with("attn2.to_k.weight") && entry.weight.shape.rank() == 2) return entry.weight.shape[1];
  return 0;
}

Result<std::unique_ptr<Denoiser>> build_unet(const io::ModelPart& part) {
  VENEER_TRY_STATUS(refuse_other_unets(part));
  return UNet::build(
      part, is_original_unet(part.weights) ? original_unet_names(part.weights).apply(part.weights) : part.weights);
}

}  // namespace veneer::model
