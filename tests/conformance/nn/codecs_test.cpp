// Case Q2 without adapters: layers of every stored form, at sizes that are whole blocks and sizes that are not: their
// products on each device are those of the decoded numbers, in double.
#include <cmath>

#include "nn/operations.h"
#include "tests/support/weight_kinds.h"
#include "tests/unit/nn/one_layer.h"

namespace veneer::nn {
namespace {

Tensor magnitudes(const Tensor& tensor) {
  Tensor out = tensor.clone();
  for (float& value : out.values()) value = std::abs(value);
  return out;
}

std::vector<float> magnitudes(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

class Codecs : public OneLayer {
 protected:
  static Layer layer_of(codec::Weight weight) {
    Layer layer;
    layer.kind = weight.shape.rank() == 4 ? LayerKind::kConv2d : LayerKind::kLinear;
    layer.name = "test.layer";
    layer.weight = std::move(weight);
    layer.geometry = ConvGeometry::same(layer.kernel());
    return layer;
  }

  // A float32 sum of n products, in whatever order, is off by at most (n + 1) 2^-24 of the sum of their magnitudes.
  void expect_product(const Layer& layer, const Tensor& x) {
    const std::vector<float> weight = layer.weight.decode_all();
    const std::vector<double> expected = reference(layer, weight, layer.weight.shape, x);
    const std::vector<double> bound = reference(layer, magnitudes(weight), layer.weight.shape, magnitudes(x));
    const Tensor y = run(layer, x);
    ASSERT_EQ(y.elements(), static_cast<int64_t>(expected.size()));
    const double roundings = static_cast<double>(layer.weight.row_values() + 1) * 0x1p-24;
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(y.f32()[i], expected[i], roundings * bound[i]) << i;
      largest = std::max(largest, std::abs(expected[i]));
    }
    EXPECT_GT(largest, 0.01);  // there was something to get wrong
  }

  // Every kind in every shape that it holds, which must be one at least.
  template <typename Check>
  void each_kind(const std::vector<Shape>& shapes, const Check& check) {
    for (const std::string& kind : test::weight_kinds()) {
      int held = 0;
      for (const Shape& shape : shapes) {
        const auto weight = test::weight_of_kind(kind, shape, 11);
        if (!weight) continue;
        SCOPED_TRACE(concat(kind, " ", shape.to_string()));
        const Status checked = weight->codec->check(*weight);
        ASSERT_TRUE(checked) << checked.error().message;
        check(*weight);
        ++held;
      }
      EXPECT_GT(held, 0) << kind;
    }
  }
};

TEST_P(Codecs, Linear) {
  each_kind({{37, 53}, {24, 96}, {16, 512}}, [&](const codec::Weight& weight) {
    const Tensor x =
        Tensor::from(random_values(static_cast<size_t>(5 * weight.shape[1]), 1), {1, 1, 5, weight.shape[1]});
    expect_product(layer_of(weight), x);
  });
}

TEST_P(Codecs, Convolution) {
  each_kind({{7, 13, 3, 3}, {12, 48, 3, 3}, {19, 21, 1, 1}, {8, 64, 1, 1}}, [&](const codec::Weight& weight) {
    const int64_t in = weight.shape[1];
    expect_product(layer_of(weight), Tensor::from(random_values(static_cast<size_t>(5 * 4 * in), 2), {1, 5, 4, in}));
  });
}

// Single rows, out of order and twice.
TEST_P(Codecs, Embedding) {
  each_kind({{37, 53}, {40, 96}}, [&](const codec::Weight& weight) {
    Layer table = layer_of(weight);
    table.kind = LayerKind::kEmbedding;
    const std::vector<int32_t> ids = {3, 0, 36, 3, 17};
    device::Arena arena(size_t{1} << 20);
    PanelCache panels(0);
    Context context{*device_, arena, panels};
    const Tensor y = embed(context, table, ids);
    const std::vector<float> all = weight.decode_all();
    const auto width = static_cast<size_t>(weight.shape[1]);
    for (size_t i = 0; i < ids.size(); ++i)
      for (size_t k = 0; k < width; ++k)
        ASSERT_EQ(y.f32()[i * width + k], all[static_cast<size_t>(ids[i]) * width + k]) << i << " " << k;
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, Codecs, testing::Values("ref", "cpu"));

}  // namespace
}  // namespace veneer::nn
