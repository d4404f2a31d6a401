// Building and running a tiny autoencoder. What the files do not name (activations, upsampling) follows from the gaps
// between the numbers: in a decoder the gap after the first convolution is a ReLU and every other one doubles the size.
#include "model/tiny_autoencoder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "core/format.h"
#include "model/name_map.h"
#include "nn/builder.h"
#include "nn/operations.h"
#include "nn/product.h"

namespace veneer::model {
namespace {

using device::Activation;
using device::ConvGeometry;
using nn::LayerBuilder;

constexpr int64_t kPoolGroups = 4;
constexpr float kPoolEpsilon = 1e-5f;

// x + conv(relu(norm(conv x))), 1x1 convolutions: what FLUX.2's blocks put in front.
struct Pool {
  const nn::Layer *widen, *norm, *narrow;
};
// relu(x + conv(relu(conv(relu(conv x))))), with a 1x1 convolution of x when widths differ.
struct Block {
  std::optional<Pool> pool;
  const nn::Layer* convs[3];
  const nn::Layer* skip = nullptr;
};
struct Convolution {
  const nn::Layer* layer;
};
struct Rectify {};
struct Double {};
using Step = std::variant<Block, Convolution, Rectify, Double>;

struct Sequence {
  std::vector<Step> steps;
  int64_t in = 0, out = 0, factor = 1;
};

// One past the largest N of "prefix.N.…".
int64_t count_layers(const io::WeightStore& store, const std::string& prefix) {
  int64_t count = 0;
  for (auto it = store.entries().lower_bound(prefix); it != store.entries().end() && it->first.starts_with(prefix);
       ++it) {
    int64_t number = 0;
    const char* end = it->first.data() + it->first.size();
    if (std::from_chars(it->first.data() + prefix.size(), end, number).ec == std::errc() && number < 64)
      count = std::max(count, number + 1);
  }
  return count;
}

Pool build_pool(LayerBuilder& builder, const std::string& name, int64_t width) {
  const nn::Layer* widen = builder.conv2d(name + ".0", LayerBuilder::kAny, width, 1, {}, nn::Bias::kNone);
  const int64_t inner = widen->weight.rows();
  return {widen, builder.norm(name + ".1", inner, kPoolGroups),
          builder.conv2d(name + ".3", width, inner, 1, {}, nn::Bias::kNone)};
}

Block build_block(LayerBuilder& builder, const std::string& name, int64_t in) {
  Block block;
  if (builder.has(name + ".pool.0")) block.pool = build_pool(builder, name + ".pool", in);
  int64_t width = in;
  for (int i = 0; i < 3; ++i) {
    block.convs[i] = builder.conv2d(concat(name, ".conv.", 2 * i), LayerBuilder::kAny, width, 3, ConvGeometry::same(3));
    width = block.convs[i]->weight.rows();
  }
  if (builder.has(name + ".skip")) block.skip = builder.conv2d(name + ".skip", width, in, 1, {}, nn::Bias::kNone);
  if (!block.skip && width != in)
    builder.fail({ErrorCode::kMismatch,
                  concat(name, ": takes ", in, " channels and gives ", width, " without a skip layer"), name});
  return block;
}

Sequence build_sequence(LayerBuilder& builder, const io::WeightStore& store, const std::string& side) {
  Sequence sequence;
  const bool encoder = side == "encoder";
  const int64_t layers = count_layers(store, side + ".layers.");
  int64_t width = LayerBuilder::kAny;
  for (int64_t n = 0; n < layers; ++n) {
    const std::string name = concat(side, ".layers.", n);
    if (builder.has(name + ".conv.0")) {
      sequence.steps.push_back(build_block(builder, name, width));
      width = std::get<Block>(sequence.steps.back()).convs[2]->weight.rows();
    } else if (builder.has(name)) {
      // An encoder halves the size in the convolutions that have no bias.
      const bool halves = encoder && !store.contains(name + ".bias");
      const nn::Layer* conv = builder.conv2d(name, LayerBuilder::kAny, width, 3, ConvGeometry::same(3, halves ? 2 : 1),
                                             nn::Bias::kOptional);
      if (n == 0) sequence.in = conv->in();
      width = conv->weight.rows();
      sequence.factor *= halves ? 2 : 1;
      sequence.steps.push_back(Convolution{conv});
    } else if (n == 1) {
      sequence.steps.push_back(Rectify{});
    } else {
      sequence.steps.push_back(Double{});
      sequence.factor *= 2;
    }
  }
  sequence.out = width;
  return sequence;
}

Tensor run_pool(nn::Context& context, const Pool& pool, const Tensor& x) {
  Tensor y = nn::conv2d(context, *pool.widen, x);
  y = nn::group_norm(context, *pool.norm, y, kPoolGroups, kPoolEpsilon);
  nn::activate_(context, y, Activation::kRelu);
  y = nn::conv2d(context, *pool.narrow, y);
  nn::add_(context, y, x);
  return y;
}

Tensor run_block(nn::Context& context, const Block& block, const Tensor& input) {
  const Tensor x = block.pool ? run_pool(context, *block.pool, input) : input;
  Tensor y = nn::conv2d(context, *block.convs[0], x);
  nn::activate_(context, y, Activation::kRelu);
  y = nn::conv2d(context, *block.convs[1], y);
  nn::activate_(context, y, Activation::kRelu);
  y = nn::conv2d(context, *block.convs[2], y);
  nn::add_(context, y, block.skip ? nn::conv2d(context, *block.skip, x) : x);
  nn::activate_(context, y, Activation::kRelu);
  return y;
}

// Each 3x3 convolution looks one pixel further at the size it works at; a norm looks at all of them.
std::optional<int64_t> reach_of(const Sequence& sequence) {
  double reach = 0, pixel = 1;  // latent pixels
  for (const Step& step : sequence.steps) {
    if (const Block* block = std::get_if<Block>(&step)) {
      if (block->pool) return std::nullopt;
      reach += 3 * pixel;
    }
    if (std::holds_alternative<Convolution>(step)) reach += pixel;
    if (std::holds_alternative<Double>(step)) pixel /= 2;
  }
  return static_cast<int64_t>(std::ceil(reach));
}

Tensor run(nn::Context& context, const Sequence& sequence, Tensor x) {
  for (const Step& step : sequence.steps) {
    if (const Block* block = std::get_if<Block>(&step)) {
      x = run_block(context, *block, x);
    } else if (const Convolution* convolution = std::get_if<Convolution>(&step)) {
      x = nn::conv2d(context, *convolution->layer, x);
    } else if (std::holds_alternative<Rectify>(step)) {
      nn::activate_(context, x, Activation::kRelu);
    } else {
      x = nn::upsample(context, x, 2 * x.shape[1], 2 * x.shape[2]);
    }
  }
  return x;
}

// The published pair of files numbers its layers without "layers."; a decoder's are one higher, because it counts the
// clamp in front.
io::WeightStore canonical(const io::WeightStore& store) {
  if (has_prefix(store, "encoder.layers.") || has_prefix(store, "decoder.layers.")) return store;
  return store.renamed([](std::string_view name) -> std::string {
    constexpr std::string_view kEncoder = "encoder.", kDecoder = "decoder.";
    if (name.starts_with(kEncoder)) return concat("encoder.layers.", name.substr(kEncoder.size()));
    if (!name.starts_with(kDecoder)) return std::string(name);
    const std::string_view rest = name.substr(kDecoder.size());
    int number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || number < 1) return std::string(name);
    return concat("decoder.layers.", number - 1, rest.substr(static_cast<size_t>(end - rest.data())));
  });
}

class TinyAutoencoder final : public Autoencoder {
 public:
  static Result<std::unique_ptr<Autoencoder>> build(const io::ModelPart& part);
  Tensor decode(nn::Context& context, const Tensor& latents) const override {
    Tensor x = nn::copy(context, latents);
    nn::activate_(context, x, Activation::kTanhThird);
    return run(context, *decoder_, x);
  }
  Encoded encode(nn::Context& context, const Tensor& image) const override {
    return {run(context, *encoder_, image), std::nullopt};
  }
  int64_t factor() const override { return decoder_ ? decoder_->factor : encoder_->factor; }
  int64_t latent_channels() const override { return decoder_ ? decoder_->in : encoder_->out; }
  std::optional<int64_t> reach() const override { return decoder_ ? reach_of(*decoder_) : std::nullopt; }
  bool can_encode() const override { return encoder_.has_value(); }
  bool can_decode() const override { return decoder_.has_value(); }

 private:
  std::optional<Sequence> encoder_, decoder_;
};

Result<std::unique_ptr<Autoencoder>> TinyAutoencoder::build(const io::ModelPart& part) {
  auto tiny = std::unique_ptr<TinyAutoencoder>(new TinyAutoencoder());
  const io::WeightStore weights = canonical(part.weights);
  LayerBuilder builder(weights, "tiny_vae", tiny->layers_);
  if (builder.has("encoder.layers.0")) tiny->encoder_ = build_sequence(builder, weights, "encoder");
  if (builder.has("decoder.layers.0")) tiny->decoder_ = build_sequence(builder, weights, "decoder");
  VENEER_TRY_STATUS(builder.status());
  if (!tiny->encoder_ && !tiny->decoder_)
    return Error{ErrorCode::kBadFile, concat(part.source, ": holds no tiny autoencoder"), part.source};
  if ((tiny->decoder_ && tiny->decoder_->out != 3) || (tiny->encoder_ && tiny->encoder_->in != 3) ||
      (tiny->encoder_ && tiny->decoder_ &&
       (tiny->encoder_->out != tiny->decoder_->in || tiny->encoder_->factor != tiny->decoder_->factor)))
    return Error{ErrorCode::kMismatch,
                 concat(part.source, ": the layers do not form a tiny autoencoder of pictures with 3 colours"),
                 part.source};
  tiny->unused_ = builder.unused();
  return std::unique_ptr<Autoencoder>(std::move(tiny));
}

}  // namespace

Result<std::unique_ptr<Autoencoder>> build_tiny_autoencoder(const io::ModelPart& part) {
  return TinyAutoencoder::build(part);
}

}  // namespace veneer::model
