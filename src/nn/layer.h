// The layers of a network: a weight as stored, small vectors in float32, and the geometry. Plain data, immutable once
// built; what a run lays over them (overlay.h) is handed in beside them. Names are canonical: dotted diffusers names
// behind the component, "unet.down_blocks.0.resnets.0.conv1".
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "codec/weight.h"
#include "device/operations.h"

namespace veneer::nn {

enum class LayerKind { kLinear, kConv2d, kNorm, kEmbedding };

struct Layer {
  LayerKind kind = LayerKind::kLinear;
  std::string name;
  int id = 0;                     // its place in the model's list
  codec::Weight weight;           // [out, in], [out, in / groups, kh, kw], [rows, width]; norms: [channels]
  std::vector<float> gain;        // norms only: the weight in float32
  std::vector<float> bias;        // empty when the layer has none
  device::ConvGeometry geometry;  // convolutions only

  int64_t out() const { return weight.shape[0]; }
  int64_t in() const { return weight.row_values() / kernel_size() * geometry.groups; }
  int64_t kernel() const { return weight.shape.rank() == 4 ? weight.shape[2] : 1; }
  int64_t kernel_size() const { return kernel() * kernel(); }
  // A convolution that looks at one pixel only is a matrix product over pixels.
  bool is_pointwise() const {
    return kernel() == 1 && geometry.stride == 1 && geometry.groups == 1 && geometry.pad_top == 0 &&
           geometry.pad_left == 0;
  }
};

// Owns the layers of one model part; addresses stay valid. Ids count from 0 in the order of adding.
class LayerList {
 public:
  const Layer* add(Layer layer) {
    layer.id = static_cast<int>(layers_.size());
    return &layers_.emplace_back(std::move(layer));
  }
  const std::deque<Layer>& all() const { return layers_; }
  size_t size() const { return layers_.size(); }

 private:
  std::deque<Layer> layers_;
};

}  // namespace veneer::nn
