// Products of inputs that are the same in every call of a network while one picture is drawn: keys and values of the
// text. The first call computes them, the others find them here.
#pragma once

#include <map>

#include "core/tensor.h"
#include "nn/layer.h"

namespace veneer::nn {

class KeptProducts {
 public:
  // Null when there is none.
  const Tensor* find(const Layer& layer) const {
    const auto found = products_.find(layer.id);
    return found == products_.end() ? nullptr : &found->second;
  }
  void keep(const Layer& layer, const Tensor& product) { products_[layer.id] = product.clone(); }

 private:
  std::map<int, Tensor> products_;  // by the layer's id
};

}  // namespace veneer::nn
