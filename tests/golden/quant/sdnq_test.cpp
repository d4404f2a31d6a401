// Single SDNQ weights: every number type, group, side part and layer kind, against the reference library's decoder.
// Tolerances, in parts of the largest value: 2e-6 for the order of additions and the reference's fused ones; 8e-3 where
// the reference computed in BF16 or F16 at its low-rank step, which this program does in float32.
#include <algorithm>
#include <cstring>

#include "codec/sdnq_packing.h"
#include "codec/sdnq_types.h"
#include "side_cases.h"
#include "tests/support/golden.h"

namespace veneer::test {
namespace {

constexpr double kTolerance = 2e-6;
constexpr double kRoundedTolerance = 8e-3;

// The case's own fields are those of the library's configuration.
Json config_of(const Json& entry) {
  Json config = entry;
  config["quant_method"] = "sdnq";
  config["use_quantized_matmul_conv"] = entry["use_quantized_matmul"];
  return config;
}

// The stored tensors of one case as those of a layer named "layer".
io::WeightStore layer_of(const io::WeightStore& all, const std::string& id) {
  return all.under(id + ".").renamed([](std::string_view name) {
    const bool golden = name.starts_with("dequant") || name == "x" || name == "y" || name == "x8" || name == "y8";
    return golden ? std::string() : "layer." + std::string(name);
  });
}

Tensor tensor_of(const io::WeightStore& store, const std::string& name) {
  const auto weight = store.weight(name);
  EXPECT_TRUE(weight) << weight.error().message;
  return weight ? Tensor::from(weight->decode_all(), weight->shape) : Tensor::zeros({1});
}

Tensor decode_case(const io::WeightStore& store, const Json& entry) {
  const std::string id = entry["id"].get<std::string>();
  return decode_joined(layer_of(store, id), config_of(entry), "layer.weight", shape_of(entry["original_shape"]));
}

class SdnqTensor : public testing::TestWithParam<std::string> {};

TEST_P(SdnqTensor, DecodesAsTheReference) {
  const io::WeightStore store = quant_store("sdnq_tensors.safetensors");
  const std::string id = GetParam();
  const Json entry = side_case(id);
  const bool rounded = entry["result_dtype"] != "float32" && contains(id, "svd");
  const Tensor expected = tensor_of(store, entry["expect"].get<std::string>());
  EXPECT_TRUE(close_to(decode_case(store, entry), expected, rounded ? kRoundedTolerance : kTolerance));
}

INSTANTIATE_TEST_SUITE_P(Cases, SdnqTensor, testing::ValuesIn(side_cases("sdnq_tensor")), case_name);

class SdnqPackingCase : public testing::TestWithParam<std::string> {};

TEST_P(SdnqPackingCase, UnpacksAsTheReference) {
  const io::WeightStore store = quant_store("sdnq_tensors.safetensors");
  const std::string id = GetParam();
  const Json entry = side_case(id);
  const int bits = std::stoi(id.substr(id.find("uint") + 4));
  const io::Entry* packed = store.find(entry["packed"].get<std::string>());
  const io::Entry* values = store.find(entry["values"].get<std::string>());
  ASSERT_TRUE(packed && values);
  const int64_t count = values->weight.elements();
  ASSERT_GT(count, 0);
  const auto words = static_cast<int>(packed->weight.bytes.size()) / static_cast<int>(packed->weight.elements());
  std::vector<uint16_t> codes(static_cast<size_t>(count));
  codec::sdnq_unpack({packed->weight.bytes.data(), words, bits}, 0, count, codes.data());
  const auto size = values->weight.bytes.size() / static_cast<size_t>(count);
  for (size_t i = 0; i < codes.size(); ++i) {
    uint16_t expected = 0;
    std::memcpy(&expected, values->weight.bytes.data() + i * size, std::min<size_t>(size, 2));
    EXPECT_EQ(codes[i], expected) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SdnqPackingCase, testing::ValuesIn(side_cases("sdnq_bit_packing")), case_name);

TEST(SdnqCodeTables, EveryCodeOfEveryFloatType) {
  const io::WeightStore store = quant_store("sdnq_tensors.safetensors");
  const Json entry = side_case("sdnq.code_table");
  for (const Json& tensor : entry["tensors"]) {
    const std::string name = tensor.get<std::string>();
    const auto type = codec::parse_sdnq_type(name.substr(name.rfind('.') + 1));
    ASSERT_TRUE(type) << name;
    const Tensor expected = tensor_of(store, name);
    ASSERT_EQ(expected.elements(), int64_t{1} << type->bits);
    // As codes of 16 bits, so that each stands by itself.
    codec::SdnqType wide = *type;
    wide.bits = 16;
    for (int64_t code = 0; code < expected.elements(); ++code) {
      const auto stored = static_cast<uint16_t>(code);
      float value = 0;
      codec::sdnq_numbers({wide, reinterpret_cast<const std::byte*>(&stored), 2}, 0, 1, &value);
      EXPECT_EQ(value, expected.f32()[code]) << name << " " << code;
    }
  }
}

class SdnqLayer : public testing::TestWithParam<std::string> {};

// Eight rows: few enough for the reference to decode the weight, as this program always does. 1e-5 for the product.
TEST_P(SdnqLayer, MultipliesAsTheReference) {
  const io::WeightStore store = quant_store("sdnq_layers.safetensors");
  const std::string id = GetParam();
  const Json entry = side_case(id);
  const Tensor weight = decode_case(store, entry);
  const Tensor x = tensor_of(store, id + ".x8"), bias = tensor_of(store, id + ".bias");
  const int64_t out = weight.shape[0], in = weight.shape[1];
  Tensor y = Tensor::zeros({8, out});
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t o = 0; o < out; ++o) {
      double sum = bias.f32()[o];
      for (int64_t i = 0; i < in; ++i) sum += double{x.f32()[row * in + i]} * weight.f32()[o * in + i];
      y.f32()[row * out + o] = static_cast<float>(sum);
    }
  EXPECT_TRUE(close_to(y, tensor_of(store, id + ".y8"), 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Cases, SdnqLayer, testing::ValuesIn(side_cases("sdnq_layer")), case_name);

class SdnqConvLayer : public testing::TestWithParam<std::string> {};

// 3 x 3, padding 1. Where the reference multiplied INT8 the tolerance is that of its rounded inputs, 3e-2.
TEST_P(SdnqConvLayer, ConvolvesAsTheReference) {
  const io::WeightStore store = quant_store("sdnq_layers.safetensors");
  const std::string id = GetParam();
  const Json entry = side_case(id);
  const Tensor weight = decode_case(store, entry), x = tensor_of(store, id + ".x");
  const Tensor bias = tensor_of(store, id + ".bias");
  ASSERT_EQ(weight.shape.rank(), 4u);
  const int64_t out = weight.shape[0], in = weight.shape[1], height = x.shape[2], width = x.shape[3];
  Tensor y = Tensor::zeros({1, out, height, width});
  for (int64_t o = 0; o < out; ++o)
    for (int64_t at = 0; at < height * width; ++at) {
      double sum = bias.f32()[o];
      for (int64_t tap = 0; tap < in * 9; ++tap) {
        const int64_t row = at / width + tap % 9 / 3 - 1, column = at % width + tap % 3 - 1;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        sum += double{x.f32()[(tap / 9 * height + row) * width + column]} * weight.f32()[o * in * 9 + tap];
      }
      y.f32()[o * height * width + at] = static_cast<float>(sum);
    }
  const bool int8 = entry["use_quantized_matmul"].get<bool>();
  EXPECT_TRUE(close_to(y, tensor_of(store, id + ".y"), int8 ? 3e-2 : 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Cases, SdnqConvLayer, testing::ValuesIn(side_cases("sdnq_conv_layer")), case_name);

}  // namespace
}  // namespace veneer::test
