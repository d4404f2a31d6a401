// Any safetensors file as an adapter: its keys are read, its groups are lowered on small layers of every kind, and what
// is accepted runs on them: the sizes of terms fit the layer, whatever the file says.
#include <map>

#include "adapt/adapter_keys.h"
#include "adapt/family.h"
#include "memory_store.h"
#include "nn/adapted_rows.h"

using veneer::Shape;
using veneer::adapt::KeyGroup;
using veneer::nn::Layer;
using veneer::nn::LayerKind;

namespace {

Layer layer_of(LayerKind kind, const Shape& shape) {
  Layer layer;
  layer.kind = kind;
  layer.name = "unet.layer";
  const std::vector<float> values(static_cast<size_t>(shape.elements()), 0.5f);
  layer.weight = veneer::codec::weight_from(values, shape, *veneer::codec::find_codec("f32"), "layer.weight");
  if (kind == LayerKind::kNorm) layer.gain = values;
  if (kind == LayerKind::kConv2d) layer.geometry = veneer::device::ConvGeometry::same(layer.kernel());
  layer.bias.assign(static_cast<size_t>(shape[0]), 0.25f);
  return layer;
}

const std::vector<Layer>& layers() {
  static const std::vector<Layer> kLayers = {layer_of(LayerKind::kLinear, {8, 8}), layer_of(LayerKind::kLinear, {6, 4}),
                                             layer_of(LayerKind::kConv2d, {4, 4, 3, 3}),
                                             layer_of(LayerKind::kConv2d, {4, 8, 1, 1}),
                                             layer_of(LayerKind::kNorm, {8})};
  return kLayers;
}

std::map<std::string, KeyGroup> groups_of(const veneer::io::WeightStore& store) {
  std::map<std::string, KeyGroup> groups;
  for (const auto& [key, entry] : store.entries()) {
    const veneer::adapt::ParsedKey parsed = veneer::adapt::parse_key(key);
    KeyGroup& group = groups[parsed.prefix + parsed.module];
    group.module = parsed.place;
    group.settings.is_peft |= parsed.is_peft;
    group.parts.emplace(parsed.part, veneer::adapt::KeyPart{key, entry.weight, entry.type_name});
  }
  return groups;
}

void run(const KeyGroup& group, const Layer& layer) {
  veneer::adapt::LowerOptions options;
  options.strength = 0.7;
  const auto lowered = veneer::adapt::lower(group, {&layer, 0, layer.out()}, options);
  if (!lowered) {
    VENEER_CHECK(!lowered.error().message.empty());
    return;
  }
  const veneer::nn::Program program{lowered->terms, lowered->strength_inside ? 1.0f : 0.7f};
  using Of = veneer::nn::Vector::Of;
  if (layer.kind == LayerKind::kNorm) {
    (void)veneer::nn::adapted_vector(layer, {&program, 1}, Of::kWeight);
  } else {
    (void)veneer::nn::adapted_rows(layer, {&program, 1}, 0, layer.out());
  }
  (void)veneer::nn::adapted_vector(layer, {&program, 1}, Of::kBias);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto store = veneer::fuzz::store_of(std::as_bytes(std::span(data, size)));
  if (!store) return 0;
  for (const auto& [module, group] : groups_of(*store))
    for (const Layer& layer : layers()) run(group, layer);
  return 0;
}
