// Building and running the PixArt transformer.
#include "model/pixart.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/format.h"
#include "model/pixart_names.h"
#include "nn/builder.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using nn::LayerBuilder;

constexpr int64_t kTimeWidth = 256;  // of the sinusoids of times and sizes
constexpr int64_t kHeads = 16;
constexpr int64_t kPixelsPerLatent = 8;
constexpr int64_t kSmallLatent = 512 / kPixelsPerLatent, kLargeLatent = 1024 / kPixelsPerLatent;

struct Attention {
  const nn::Layer *q, *k, *v, *out;

  Attention(LayerBuilder& builder, const std::string& name, int64_t width) {
    q = builder.linear(name + ".to_q", width, width);
    k = builder.linear(name + ".to_k", width, width);
    v = builder.linear(name + ".to_v", width, width);
    out = builder.linear(name + ".to_out.0", width, width);
  }
  // Queries of `x` on keys and values of the text, or of itself without one.
  Tensor run(nn::Context& context, const Tensor& x, const Tensor* text, int64_t heads, const Tensor& mask) const {
    const Tensor query = nn::linear(context, *q, x);
    const Tensor key = text ? nn::linear_once(context, *k, *text) : nn::linear(context, *k, x);
    const Tensor value = text ? nn::linear_once(context, *v, *text) : nn::linear(context, *v, x);
    return nn::linear(context, *out, nn::attention(context, query, key, value, heads, {.key_mask = mask}));
  }
};

// Two products with an activation in between.
struct Mlp {
  const nn::Layer *first, *second;

  Mlp(LayerBuilder& builder, const std::string& first_name, const std::string& second_name, int64_t in, int64_t out) {
    first = builder.linear(first_name, LayerBuilder::kAny, in);
    second = builder.linear(second_name, out, first->weight.rows());
  }
  Mlp(LayerBuilder& builder, const std::string& name, int64_t in, int64_t out)
      : Mlp(builder, name + ".linear_1", name + ".linear_2", in, out) {}

  Tensor run(nn::Context& context, const Tensor& x, device::Activation activation) const {
    Tensor inner = nn::linear(context, *first, x);
    nn::activate_(context, inner, activation);
    return nn::linear(context, *second, inner);
  }
};

struct Block {
  Attention self, cross;
  Mlp feed;
  std::vector<float> table;  // [6, width]: shift, scale and gate of the attention, then of the feed-forward layer

  Block(LayerBuilder& builder, const std::string& name, int64_t width)
      : self(builder, name + ".attn1", width),
        cross(builder, name + ".attn2", width),
        feed(builder, name + ".ff.net.0.proj", name + ".ff.net.2", width, width),
        table(builder.values(name + ".scale_shift_table", {6, width})) {}
};

// What all blocks are given.
struct Conditions {
  Tensor time;  // [1, 6 widths], as Block::table
  Tensor text;  // [batch, tokens, width]
  Tensor mask;  // [batch, tokens] or empty
};

// What the shapes do not tell.
struct Settings {
  int64_t heads = kHeads;
  int64_t sample_size = 0;   // latent pixels a side that it was trained for; 0: unknown
  double interpolation = 0;  // by which its positions were divided; 0: follows from sample_size
  float epsilon = 1e-6f;
};

// "1024x1024" in the metadata, as latent pixels; 0 when it says nothing.
int64_t tagged_size(const io::WeightStore& weights) {
  const auto found = weights.metadata().find("modelspec.resolution");
  if (found == weights.metadata().end()) return 0;
  int64_t pixels = 0;
  const char* begin = found->second.data();
  std::from_chars(begin, begin + found->second.size(), pixels);
  return std::clamp<int64_t>(pixels, 0, 1 << 16) / kPixelsPerLatent;
}

bool is_told_sizes(const io::WeightStore& weights) {
  return weights.contains("csize_embedder.mlp.0.weight") ||
         weights.contains("adaln_single.emb.resolution_embedder.linear_1.weight");
}

Result<Settings> read_settings(const io::ModelPart& part) {
  Settings settings;
  const int64_t guess = is_told_sizes(part.weights) ? kLargeLatent : tagged_size(part.weights);
  VENEER_TRY(heads, json_integer(part.config, "num_attention_heads", kHeads, part.source));
  VENEER_TRY(sample_size, json_integer(part.config, "sample_size", guess, part.source));
  VENEER_TRY(interpolation, json_number(part.config, "interpolation_scale", 0, part.source));
  VENEER_TRY(epsilon, json_number(part.config, "norm_eps", settings.epsilon, part.source));
  if (heads < 1 || sample_size < 0 || !(interpolation >= 0))
    return Error{ErrorCode::kBadFile,
                 concat(part.source, ": config.json: ", heads, " heads, sample_size ", sample_size,
                        " and interpolation_scale ", interpolation, "; expected positive numbers"),
                 part.source};
  return Settings{heads, sample_size, interpolation, static_cast<float>(epsilon)};
}

class PixArt final : public Denoiser {
 public:
  static Result<std::unique_ptr<Denoiser>> build(const io::ModelPart& part);
  Tensor forward(nn::Context& context, const Input& input) const override;
  int64_t input_channels() const override { return patch_->in(); }
  int64_t latent_channels() const override { return patch_->in(); }
  int64_t context_width() const override { return caption_->first->in(); }
  int64_t vector_width() const override { return resolution_ ? 2 : 0; }
  int64_t size_multiple() const override { return patch_->kernel(); }

 private:
  void take_layers(LayerBuilder& builder);
  Status check_sizes(const std::string& source) const;
  int64_t width() const { return patch_->out(); }

  Tensor embed_time(nn::Context& context, const Input& input) const;
  Tensor patches(nn::Context& context, const Tensor& x) const;
  Tensor modulation(nn::Context& context, const std::vector<float>& table, const Tensor& vectors) const;
  void run_block(nn::Context& context, const Block& block, const Conditions& conditions, Tensor& x) const;

  Settings settings_;
  const nn::Layer *patch_ = nullptr, *modulate_ = nullptr, *out_ = nullptr;
  std::optional<Mlp> caption_, time_, resolution_, aspect_;
  std::vector<Block> blocks_;
  std::vector<float> out_table_;  // [2, width]: shift and scale
};

void PixArt::take_layers(LayerBuilder& builder) {
  const std::string embedders = "adaln_single.emb.";
  const Shape patch = builder.shape_of("pos_embed.proj");
  const int64_t side = patch.rank() == 4 ? patch[2] : LayerBuilder::kAny;
  patch_ = builder.conv2d("pos_embed.proj", LayerBuilder::kAny, LayerBuilder::kAny, side, {.stride = side});
  caption_.emplace(builder, "caption_projection", LayerBuilder::kAny, width());
  time_.emplace(builder, embedders + "timestep_embedder", kTimeWidth, width());
  if (builder.has(embedders + "resolution_embedder.linear_1")) {
    resolution_.emplace(builder, embedders + "resolution_embedder", kTimeWidth, width() / 3);
    aspect_.emplace(builder, embedders + "aspect_ratio_embedder", kTimeWidth, width() / 3);
  }
  modulate_ = builder.linear("adaln_single.linear", 6 * width(), width());
  for (size_t i = 0; i == 0 || builder.has(concat("transformer_blocks.", i, ".attn1.to_q")); ++i)
    blocks_.emplace_back(builder, concat("transformer_blocks.", i), width());
  out_ = builder.linear("proj_out", LayerBuilder::kAny, width());
  out_table_ = builder.values("scale_shift_table", {2, width()});
}

Status PixArt::check_sizes(const std::string& source) const {
  const int64_t patch = patch_->kernel() * patch_->kernel();
  if (width() % (4 * settings_.heads) != 0 || (resolution_ && width() % 3 != 0))
    return Error{ErrorCode::kMismatch,
                 concat(source, ": a width of ", width(), " cannot be cut into ", settings_.heads, " heads"), source};
  if (out_->out() % patch != 0 || out_->out() / patch < latent_channels())
    return Error{ErrorCode::kMismatch,
                 concat(source, ": ", out_->out(), " outputs a patch are no ", latent_channels(), " channels of ",
                        patch, " pixels"),
                 source};
  return {};
}

Result<std::unique_ptr<Denoiser>> PixArt::build(const io::ModelPart& part) {
  auto pixart = std::unique_ptr<PixArt>(new PixArt());
  VENEER_TRY(settings, read_settings(part));
  pixart->settings_ = settings;
  if (part.weights.contains("blocks.0.attn.sr.weight"))
    return Error{ErrorCode::kUnsupported,
                 concat(part.source, ": its attention compresses keys and values, which is not supported; take the ",
                        "512 or 1024 pixel variant"),
                 part.source};
  const io::WeightStore weights =
      is_original_pixart(part.weights) ? original_pixart_names(part.weights).apply(part.weights) : part.weights;
  LayerBuilder builder(weights, "transformer", pixart->layers_);
  pixart->take_layers(builder);
  VENEER_TRY_STATUS(builder.status());
  VENEER_TRY_STATUS(pixart->check_sizes(part.source));
  pixart->unused_ = builder.unused();
  return std::unique_ptr<Denoiser>(std::move(pixart));
}

// [1, width].
Tensor PixArt::embed_time(nn::Context& context, const Input& input) const {
  const auto embed = [&context](const Mlp& mlp, std::span<const float> values) {
    return mlp.run(context, nn::sinusoid(context, values, kTimeWidth), device::Activation::kSilu);
  };
  Tensor time = embed(*time_, std::array{input.timestep});
  if (!resolution_) return time;
  const std::array sizes =
      context.measuring() ? std::array{1.0f, 1.0f} : std::array{input.vector.f32()[0], input.vector.f32()[1]};
  const Tensor resolution = embed(*resolution_, sizes).reshaped({1, 2 * (width() / 3)});
  const Tensor aspect = embed(*aspect_, std::array{sizes[0] / sizes[1]});
  nn::add_(context, time, nn::concat_channels(context, resolution, aspect));
  return time;
}

// The sines and cosines of one axis, [count, channels]: w_k = 10000^(-k / (channels / 2)). Places are those of a grid
// of the trained size that is stretched over the axis.
std::vector<float> axis_code(int64_t count, int64_t channels, double trained, double interpolation) {
  const int64_t half = channels / 2;
  std::vector<float> code(static_cast<size_t>(count * channels));
  for (int64_t i = 0; i < count; ++i) {
    const double place = static_cast<double>(i) * trained / static_cast<double>(count) / interpolation;
    float* row = code.data() + i * channels;
    for (int64_t k = 0; k < half; ++k) {
      const double angle = place * std::pow(10000.0, -static_cast<double>(k) / static_cast<double>(half));
      row[k] = static_cast<float>(std::sin(angle));
      row[half + k] = static_cast<float>(std::cos(angle));
    }
  }
  return code;
}

// [batch, tokens, width]: the first half of a token's position code is its column's, the second half its row's.
Tensor PixArt::patches(nn::Context& context, const Tensor& x) const {
  Tensor grid = nn::conv2d(context, *patch_, x);
  const int64_t batch = grid.shape[0], rows = grid.shape[1], columns = grid.shape[2], half = width() / 2;
  Tensor tokens = grid.reshaped({batch, rows * columns, width()});
  if (context.measuring()) return tokens;
  const int64_t small = kSmallLatent + kSmallLatent / 4;  // without a word about its training
  const int64_t guess = std::max(x.shape[1], x.shape[2]) <= small ? kSmallLatent : kLargeLatent;
  const int64_t sample = settings_.sample_size > 0 ? settings_.sample_size : guess;
  const double trained = static_cast<double>(sample) / static_cast<double>(patch_->kernel());
  const double usual = std::max(1.0, std::floor(static_cast<double>(sample) / kSmallLatent));
  const double interpolation = settings_.interpolation > 0 ? settings_.interpolation : usual;
  const std::vector<float> by_column = axis_code(columns, half, trained, interpolation),
                           by_row = axis_code(rows, half, trained, interpolation);
  for (int64_t token = 0; token < batch * rows * columns; ++token) {
    const float* column = by_column.data() + token % columns * half;
    const float* row = by_row.data() + token / columns % rows * half;
    float* to = tokens.f32() + token * width();
    for (int64_t c = 0; c < half; ++c) {
      to[c] += column[c];
      to[half + c] += row[c];
    }
  }
  return tokens;
}

// [1, table.size()]: the table plus the vectors, [1, table.size()] or [1, width] for all rows alike.
Tensor PixArt::modulation(nn::Context& context, const std::vector<float>& table, const Tensor& vectors) const {
  const auto size = static_cast<int64_t>(table.size()), count = vectors.elements();
  Tensor sum = context.arena.allocate({1, size / count, count});
  if (!context.measuring()) std::memcpy(sum.data, table.data(), sum.bytes());
  nn::add_vector_(context, sum, vectors);
  return sum.reshaped({1, size});
}

void PixArt::run_block(nn::Context& context, const Block& block, const Conditions& conditions, Tensor& x) const {
  const Tensor vectors = modulation(context, block.table, conditions.time);
  Tensor y = nn::modulated_norm(context, x, vectors, 0, 1, settings_.epsilon);
  nn::add_gated_(context, x, block.self.run(context, y, nullptr, settings_.heads, {}), vectors, 2);
  nn::add_(context, x, block.cross.run(context, x, &conditions.text, settings_.heads, conditions.mask));
  y = nn::modulated_norm(context, x, vectors, 3, 4, settings_.epsilon);
  nn::add_gated_(context, x, block.feed.run(context, y, device::Activation::kGeluTanh), vectors, 5);
}

Tensor PixArt::forward(nn::Context& context, const Input& input) const {
  const Tensor time = embed_time(context, input);
  Tensor activated = nn::copy(context, time);
  nn::activate_(context, activated, device::Activation::kSilu);
  const Conditions conditions{nn::linear(context, *modulate_, activated),
                              caption_->run(context, input.context, device::Activation::kGeluTanh), input.context_mask};
  Tensor x = patches(context, input.x);
  for (const Block& block : blocks_) run_block(context, block, conditions, x);
  // The last modulation adds the embedded time itself, not what the blocks are given.
  x = nn::modulated_norm(context, x, modulation(context, out_table_, time), 0, 1, settings_.epsilon);
  x = nn::linear(context, *out_, x);
  // The channels behind the noise are its learned variance, which sampling does not use.
  const int64_t patch = patch_->kernel();
  return nn::unpatch(context, x, input.x.shape[1] / patch, input.x.shape[2] / patch, patch, latent_channels());
}

}  // namespace

bool is_pixart(const io::ModelPart& part) {
  const io::WeightStore& weights = part.weights;
  return (is_original_pixart(weights) && weights.contains("t_block.1.weight")) ||
         (weights.contains("adaln_single.linear.weight") && weights.contains("caption_projection.linear_1.weight"));
}

bool is_pixart_sigma(const io::ModelPart& part) {
  if (!is_pixart(part)) return false;
  constexpr int64_t kSigmaTokens = 300;
  if (const io::Entry* null_caption = part.weights.find("y_embedder.y_embedding"))
    return null_caption->weight.rows() == kSigmaTokens;
  const auto settings = read_settings(part);
  return settings && settings->sample_size > kSmallLatent && !is_told_sizes(part.weights);
}

bool is_pixart_alpha_1024(const io::ModelPart& part) { return is_pixart(part) && is_told_sizes(part.weights); }

Result<std::unique_ptr<Denoiser>> build_pixart(const io::ModelPart& part) { return PixArt::build(part); }

}  // namespace veneer::model
