// Whole SDNQ layers against the reference library: the product, and the product with low-rank adapters beside it, on
// every device. Tolerances, in parts of the largest value: 1e-5 for a product of decoded numbers, 5e-5 with adapters,
// which the reference appends to the low-rank part of the weight; 3e-2 where it rounded the inputs to INT8 or F8 for a
// quantized product, as it does from 32 rows on in layers stored for that.
#include "side_cases.h"
#include "tests/support/golden.h"
#include "tests/unit/nn/one_layer.h"

namespace veneer::test {
namespace {

constexpr double kProduct = 1e-5, kWithAdapters = 5e-5, kQuantizedProduct = 3e-2;

class SdnqLayers : public nn::OneLayer {
 protected:
  // The layer of a case; without content when it cannot be read, which fails the test.
  static nn::Layer layer_of(const io::WeightStore& store, const std::string& id, const Json& entry) {
    nn::Layer layer;
    layer.name = id;
    const auto weight =
        join_case(sdnq_layer_of(store, id), sdnq_config(entry), "layer.weight", shape_of(entry["original_shape"]));
    if (!weight) return layer;
    layer.weight = *weight;
    layer.kind = weight->shape.rank() == 4 ? nn::LayerKind::kConv2d : nn::LayerKind::kLinear;
    layer.geometry = device::ConvGeometry::same(layer.kernel());
    const Tensor bias = stored_tensor(store, id + ".bias");
    layer.bias.assign(bias.values().begin(), bias.values().end());
    return layer;
  }

  // The adapters of a case, each a program with its strength.
  static std::vector<nn::Program> adapters_of(const io::WeightStore& store, const std::string& id, const Json& entry) {
    std::vector<nn::Program> programs;
    for (const Json& strength : entry["adapter_scales"]) {
      const std::string name = concat(id, ".adapter", programs.size());
      const Tensor up = stored_tensor(store, name + ".up");
      const nn::Pair pair{stored_tensor(store, name + ".down"), up.reshaped({up.shape[0], up.shape[1]})};
      programs.push_back({{pair}, strength.get<float>()});
    }
    return programs;
  }

  void expect_with_adapters(const nn::Layer& layer, std::span<const nn::Program> programs, const Tensor& x,
                            const Tensor& expected, double tolerance) {
    for (const bool fold : {false, true}) {
      const nn::OverlaySet overlays{nn::make_overlay(layer, programs, {.fold_pairs = fold})};
      EXPECT_TRUE(close_to(run(layer, x, &overlays), expected, tolerance)) << "folding " << fold;
    }
  }
};

// Inputs [rows, in] and outputs [rows, out] as rows of pixels.
Tensor pixels(const Tensor& tensor) { return tensor.reshaped({1, 1, tensor.shape[0], tensor.shape[1]}); }

TEST_P(SdnqLayers, Multiply) {
  const io::WeightStore store = quant_store("sdnq_layers.safetensors");
  for (const std::string& id : side_cases("sdnq_layer")) {
    SCOPED_TRACE(id);
    const Json entry = side_case(id);
    const nn::Layer layer = layer_of(store, id, entry);
    ASSERT_EQ(layer.weight.shape.rank(), 2u);
    const std::vector<nn::Program> adapters = adapters_of(store, id, entry);
    const bool quantized = entry["use_quantized_matmul"].get<bool>();
    for (const std::string rows : {"8", "40"}) {
      const bool rounded = quantized && rows == "40";
      const Tensor x = pixels(stored_tensor(store, concat(id, ".x", rows)));
      EXPECT_TRUE(close_to(run(layer, x), pixels(stored_tensor(store, concat(id, ".y", rows))),
                           rounded ? kQuantizedProduct : kProduct));
      expect_with_adapters(layer, adapters, x, pixels(stored_tensor(store, concat(id, ".with_adapters.y", rows))),
                           rounded ? kQuantizedProduct : kWithAdapters);
    }
  }
}

TEST_P(SdnqLayers, Convolve) {
  const io::WeightStore store = quant_store("sdnq_layers.safetensors");
  for (const std::string& id : side_cases("sdnq_conv_layer")) {
    SCOPED_TRACE(id);
    const Json entry = side_case(id);
    const nn::Layer layer = layer_of(store, id, entry);
    ASSERT_EQ(layer.weight.shape.rank(), 4u);
    const Tensor x = nchw_to_nhwc(stored_tensor(store, id + ".x"));
    const double tolerance = entry["use_quantized_matmul"].get<bool>() ? kQuantizedProduct : kProduct;
    EXPECT_TRUE(close_to(run(layer, x), nchw_to_nhwc(stored_tensor(store, id + ".y")), tolerance));
    if (store.find(id + ".with_adapters.y") == nullptr) continue;
    expect_with_adapters(layer, adapters_of(store, id, entry), x,
                         nchw_to_nhwc(stored_tensor(store, id + ".with_adapters.y")), kWithAdapters);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SdnqLayers, testing::Values("ref", "cpu"));

}  // namespace
}  // namespace veneer::test
