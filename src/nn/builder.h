// Takes weights out of a store and makes layers of them, checking every shape. Problems are collected, so that a
// network's constructor reads as its list of layers; whoever builds asks `status` once at the end and only then uses
// the layers.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_store.h"
#include "nn/layer.h"

namespace veneer::nn {

enum class Bias { kRequired, kOptional, kNone };

class LayerBuilder {
 public:
  static constexpr int64_t kAny = -1;

  // `component` comes in front of every canonical name. The store's names are canonical without it.
  LayerBuilder(const io::WeightStore& store, std::string component, LayerList& layers);

  // Each looks for `name`.weight and `name`.bias. Sizes may be kAny. A pointwise convolution stored as a matrix, or a
  // matrix stored as a pointwise convolution, is taken as what is asked for. Never null: after an error a layer without
  // content.
  const Layer* linear(const std::string& name, int64_t out, int64_t in, Bias bias = Bias::kRequired);
  const Layer* conv2d(const std::string& name, int64_t out, int64_t in, int64_t kernel,
                      const device::ConvGeometry& geometry, Bias bias = Bias::kRequired);
  // `groups` must divide the channels. A root-mean-square norm has no bias.
  const Layer* norm(const std::string& name, int64_t channels, int64_t groups = 1, Bias bias = Bias::kRequired);
  // `tensor` is the whole tensor name.
  const Layer* embedding(const std::string& tensor, int64_t rows, int64_t width);
  // The numbers of a tensor that is no layer, because nothing multiplies with it and no adapter changes it; empty after
  // an error.
  std::vector<float> values(const std::string& tensor, const Shape& shape);

  bool has(const std::string& name) const { return store_.contains(name + ".weight"); }
  // The weight's shape, empty when there is none.
  Shape shape_of(const std::string& name) const;
  // For what a network finds wrong itself.
  void fail(Error error);

  // The first problem, with the number of the others. Errors: bad_file (missing), mismatch (shape), unsupported (type).
  Status status() const;
  std::vector<std::string> unused() const;

 private:
  Layer take(LayerKind kind, const std::string& name, const std::string& tensor, const Shape& expected);
  void take_bias(Layer& layer, const std::string& name, int64_t size, Bias bias);

  const io::WeightStore& store_;
  std::string component_;
  LayerList& layers_;
  std::set<std::string, std::less<>> used_;
  std::vector<Error> problems_;
};

}  // namespace veneer::nn
