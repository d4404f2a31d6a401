// Layers from a store of weights.
#include "nn/builder.h"

#include <algorithm>

namespace veneer::nn {
namespace {

// "any" for sizes that the caller leaves open.
std::string expected_text(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.rank(); ++i)
    out += (i ? ", " : "") + (shape[i] == LayerBuilder::kAny ? std::string("any") : std::to_string(shape[i]));
  return out + "]";
}

bool fits(const Shape& shape, const Shape& expected) {
  if (shape.rank() != expected.rank()) return false;
  for (size_t i = 0; i < shape.rank(); ++i)
    if (expected[i] != LayerBuilder::kAny && shape[i] != expected[i]) return false;
  return shape.elements() > 0;
}

// [out, in] <-> [out, in, 1, 1].
Shape with_rank(const Shape& shape, size_t rank) {
  if (shape.rank() == 2 && rank == 4) return {shape[0], shape[1], 1, 1};
  if (shape.rank() == 4 && rank == 2 && shape[2] == 1 && shape[3] == 1) return {shape[0], shape[1]};
  return shape;
}

}  // namespace

LayerBuilder::LayerBuilder(const io::WeightStore& store, std::string component, LayerList& layers)
    : store_(store), component_(std::move(component)), layers_(layers) {}

Layer LayerBuilder::take(LayerKind kind, const std::string& name, const std::string& tensor, const Shape& expected) {
  Layer layer;
  layer.kind = kind;
  layer.name = component_ + "." + name;
  auto weight = store_.weight(tensor);
  if (!weight) {
    fail(std::move(weight).error());
    return layer;
  }
  used_.insert(tensor);
  layer.weight = *std::move(weight);
  const bool known = std::find(expected.begin(), expected.end(), kAny) == expected.end();
  layer.weight.shape =
      layer.weight.shape_is_open() && known ? expected : with_rank(layer.weight.shape, expected.rank());
  if (!fits(layer.weight.shape, expected)) {
    fail({ErrorCode::kMismatch,
          concat(store_.source(), ": tensor ", layer.weight.name, ": expected shape ", expected_text(expected),
                 ", found ", layer.weight.shape.to_string()),
          layer.weight.name});
    return layer;
  }
  if (Status checked = layer.weight.codec->check(layer.weight); !checked) fail(std::move(checked).error());
  return layer;
}

void LayerBuilder::take_bias(Layer& layer, const std::string& name, int64_t size, Bias bias) {
  const std::string tensor = name + ".bias";
  if (bias == Bias::kNone || (bias == Bias::kOptional && !store_.contains(tensor))) return;
  layer.bias = values(tensor, {size});
}

const Layer* LayerBuilder::linear(const std::string& name, int64_t out, int64_t in, Bias bias) {
  Layer layer = take(LayerKind::kLinear, name, name + ".weight", {out, in});
  if (problems_.empty()) take_bias(layer, name, layer.out(), bias);
  return layers_.add(std::move(layer));
}

const Layer* LayerBuilder::conv2d(const std::string& name, int64_t out, int64_t in, int64_t kernel,
                                  const device::ConvGeometry& geometry, Bias bias) {
  const int64_t group_in = in == kAny ? kAny : in / geometry.groups;
  Layer layer = take(LayerKind::kConv2d, name, name + ".weight", {out, group_in, kernel, kernel});
  layer.geometry = geometry;
  if (problems_.empty()) take_bias(layer, name, layer.out(), bias);
  return layers_.add(std::move(layer));
}

const Layer* LayerBuilder::norm(const std::string& name, int64_t channels, int64_t groups, Bias bias) {
  Layer layer = take(LayerKind::kNorm, name, name + ".weight", {channels});
  if (layer.out() % groups != 0)
    fail({ErrorCode::kMismatch,
          concat(store_.source(), ": tensor ", layer.weight.name, ": ", layer.out(), " channels cannot be cut into ",
                 groups, " groups"),
          layer.weight.name});
  if (problems_.empty()) {
    layer.gain = layer.weight.decode_all();
    take_bias(layer, name, layer.out(), bias);
  }
  return layers_.add(std::move(layer));
}

const Layer* LayerBuilder::embedding(const std::string& tensor, int64_t rows, int64_t width) {
  constexpr std::string_view kSuffix = ".weight";
  const std::string name = tensor.ends_with(kSuffix) ? tensor.substr(0, tensor.size() - kSuffix.size()) : tensor;
  return layers_.add(take(LayerKind::kEmbedding, name, tensor, {rows, width}));
}

std::vector<float> LayerBuilder::values(const std::string& tensor, const Shape& shape) {
  const Layer found = take(LayerKind::kNorm, tensor, tensor, shape);
  return problems_.empty() ? found.weight.decode_all() : std::vector<float>();
}

Shape LayerBuilder::shape_of(const std::string& name) const {
  const io::Entry* entry = store_.find(name + ".weight");
  return entry ? entry->weight.shape : Shape();
}

void LayerBuilder::fail(Error error) { problems_.push_back(std::move(error)); }

Status LayerBuilder::status() const {
  if (problems_.empty()) return {};
  Error first = problems_.front();
  if (problems_.size() > 1) first.message += concat(" (and ", problems_.size() - 1, " more problems of this kind)");
  return first;
}

std::vector<std::string> LayerBuilder::unused() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : store_.entries())
    if (!used_.contains(name)) out.push_back(entry.weight.name);
  return out;
}

}  // namespace veneer::nn
