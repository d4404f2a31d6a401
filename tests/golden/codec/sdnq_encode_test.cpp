// SDNQ's encoder against the reference library's: a weight that the reference stored, decoded and encoded again by our
// rules, must give the reference's codes to the byte, its shapes, and its scales and zero points to within what float32
// loses on the way back (one product, one sum, one quotient: three units of the last place of the largest value).
#include "codec/sdnq_encode.h"

#include <cmath>

#include "io/container.h"
#include "tests/support/golden.h"

namespace veneer::codec {
namespace {

struct Case {
  const char* id;
  const char* type;
  int64_t group;  // as the reference was asked
};

constexpr Case kCases[] = {
    {"int8", "int8", 0},
    {"uint8", "uint8", 0},
    {"int4", "int4", 0},
    {"uint4", "uint4", 0},
    {"odd_width_int8", "int8", 0},
    {"odd_width_uint4", "uint4", 0},
    {"group_32_int8", "int8", 32},
    {"group_row", "uint4", -1},
    {"group_auto_640", "uint4", 0},
    {"group_auto_1000", "uint4", 0},
    {"group_100_becomes_160", "uint4", 100},
    {"group_33_becomes_40", "uint4", 33},
    {"conv1d_int8", "int8", 0},
    {"conv3x3_int8", "int8", 0},
    {"conv3x3_uint4", "uint4", 0},
    {"conv3x3_uint4_groups", "uint4", 0},
    {"conv1x1_uint4_groups", "uint4", 0},
    {"conv3d_uint4", "uint4", 0},
};

class SdnqEncoder : public testing::TestWithParam<Case> {};

void expect_near(const Weight& ours, const Weight& reference, float largest) {
  EXPECT_EQ(ours.shape, reference.shape);
  const std::vector<float> a = ours.decode_all(), b = reference.decode_all();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], largest * 3 * 0x1p-23f) << reference.name << " " << i;
}

TEST_P(SdnqEncoder, GivesTheCodesOfTheReference) {
  const auto& [id, type, group] = GetParam();
  const auto store = io::open_weights(test::data_path("quant/sdnq_tensors.safetensors"));
  ASSERT_TRUE(store) << store.error().message;
  const std::string prefix = concat("sdnq.", id, ".");
  const auto values = store->weight(prefix + "dequant_f32");
  ASSERT_TRUE(values) << values.error().message;
  const SdnqForm form{*parse_sdnq_type(type), group, 0, nullptr, false};
  const std::vector<float> numbers = values->decode_all();
  auto bytes = encode(form, numbers, values->shape, id);
  ASSERT_TRUE(bytes) << bytes.error().message;

  const io::Entry* codes = store->find(prefix + "weight");
  ASSERT_NE(codes, nullptr);
  const std::vector<StoredTensor> tensors = stored_tensors(form, values->shape);
  EXPECT_EQ(tensors.at(0).shape, codes->weight.shape);
  EXPECT_EQ(tensors.at(0).type, codes->type_name);
  EXPECT_TRUE(std::ranges::equal(bytes->at(0), codes->weight.bytes));

  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  const Weight ours = decodable(form, *std::move(bytes), values->shape, id);
  expect_near(*ours.side->find("scale"), *store->weight(prefix + "scale"), largest);
  EXPECT_EQ(ours.side->find("zero_point") != nullptr, store->contains(prefix + "zero_point"));
  if (const Weight* zero = ours.side->find("zero_point"))
    expect_near(*zero, *store->weight(prefix + "zero_point"), largest);
}

INSTANTIATE_TEST_SUITE_P(Cases, SdnqEncoder, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.id); });

}  // namespace
}  // namespace veneer::codec
