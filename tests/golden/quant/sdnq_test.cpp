// Single SDNQ weights: every number type, group, side part and layer kind, against the reference library's decoder.
// Tolerances, in parts of the largest value: 2e-6 for the order of additions and the reference's fused ones; 8e-3 where
// the reference computed in BF16 or F16 at its low-rank step, which this program does in float32.
#include <algorithm>
#include <cstring>

#include "codec/sdnq_packing.h"
#include "codec/sdnq_types.h"
#include "codec/side_factors.h"
#include "side_cases.h"
#include "tests/support/golden.h"

namespace veneer::test {
namespace {

constexpr double kTolerance = 2e-6;
constexpr double kRoundedTolerance = 8e-3;

Tensor decode_case(const io::WeightStore& store, const Json& entry) {
  const std::string id = entry["id"].get<std::string>();
  return decode_joined(sdnq_layer_of(store, id), sdnq_config(entry), "layer.weight", shape_of(entry["original_shape"]));
}

class SdnqTensor : public testing::TestWithParam<std::string> {};

TEST_P(SdnqTensor, DecodesAsTheReference) {
  const io::WeightStore store = quant_store("sdnq_tensors.safetensors");
  const std::string id = GetParam();
  const Json entry = side_case(id);
  const bool rounded = entry["result_dtype"] != "float32" && contains(id, "svd");
  const Tensor expected = stored_tensor(store, entry["expect"].get<std::string>());
  EXPECT_TRUE(close_to(decode_case(store, entry), expected, rounded ? kRoundedTolerance : kTolerance));
}

// A low-rank change in the side factors is that change of the decoded weight, whatever the codes, and the weight that
// it was made from stays as it was. Tolerance: float32 sums of factors of unit size, rotated on some.
TEST_P(SdnqTensor, TakesAChangeIntoItsSideFactors) {
  const io::WeightStore store = quant_store("sdnq_tensors.safetensors");
  const Json entry = side_case(GetParam());
  const auto weight = join_case(sdnq_layer_of(store, GetParam()), sdnq_config(entry), "layer.weight",
                                shape_of(entry["original_shape"]));
  ASSERT_TRUE(weight);
  constexpr int64_t kRank = 3;
  const int64_t rows = weight->rows(), values = weight->row_values();
  std::vector<float> up(static_cast<size_t>(rows * kRank)), down(static_cast<size_t>(kRank * values));
  for (size_t i = 0; i < up.size(); ++i) up[i] = 0.01f * static_cast<float>(i % 17) - 0.08f;
  for (size_t i = 0; i < down.size(); ++i) down[i] = 0.1f * static_cast<float>(i % 23) - 1.1f;
  const std::vector<float> before = weight->decode_all();
  const auto changed = codec::with_side_factors(*weight, up, down, kRank);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->bytes.data(), weight->bytes.data());
  EXPECT_EQ(weight->decode_all(), before);
  Tensor expected = Tensor::from(before, weight->shape);
  for (int64_t i = 0; i < rows * values; ++i) {
    double sum = before[static_cast<size_t>(i)];
    for (int64_t k = 0; k < kRank; ++k)
      sum +=
          double{up[static_cast<size_t>(i / values * kRank + k)]} * down[static_cast<size_t>(k * values + i % values)];
    expected.f32()[i] = static_cast<float>(sum);
  }
  EXPECT_TRUE(close_to(Tensor::from(changed->decode_all(), weight->shape), expected, 2e-6));
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
    const Tensor expected = stored_tensor(store, name);
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

}  // namespace
}  // namespace veneer::test
