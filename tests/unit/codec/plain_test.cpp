// Plain weights: rows are decoded where asked, and a wrong size is refused with the numbers.
#include <gtest/gtest.h>

#include <numeric>

#include "codec/weight.h"

namespace veneer::codec {
namespace {

TEST(PlainCodecs, DecodeTheRowsAskedFor) {
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), -5.0f);
  for (const char* name : {"f32", "f16", "bf16"}) {
    const Weight weight = weight_from(values, {4, 3}, *find_codec(name), "w");
    ASSERT_TRUE(weight.codec->check(weight));
    std::vector<float> rows(6);
    weight.decode_rows(1, 2, rows.data());
    EXPECT_EQ(rows, std::vector<float>(values.begin() + 3, values.begin() + 9)) << name;
    EXPECT_EQ(weight.decode_all(), values) << name;
  }
}

TEST(PlainCodecs, RefuseAWrongSize) {
  Weight weight = weight_from(std::vector<float>(6), {2, 3}, *find_codec("f16"), "layer.weight");
  weight.bytes = weight.bytes.first(11);
  const Status checked = weight.codec->check(weight);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(checked.error().message, "tensor layer.weight: f16 [2, 3] takes 12 bytes, found 11");
}

TEST(PlainCodecs, AreFoundByName) {
  for (const Codec* codec : codecs()) EXPECT_EQ(find_codec(codec->name), codec);
  EXPECT_EQ(find_codec("q9_9"), nullptr);
}

}  // namespace
}  // namespace veneer::codec
