// What all formats of bytes alone share: sizes that are refused, and rows that begin and end inside blocks.
#include "codec/blocks.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/codec/random_blocks.h"

namespace veneer::codec {
namespace {

TEST(Blocks, CheckAcceptsExactlyTheRightNumberOfBytes) {
  for (const Codec* codec : byte_codecs()) {
    Weight weight = random_weight(*codec, {3, 100}, 2);
    EXPECT_TRUE(codec->check(weight)) << codec->name;
    weight.shape = {3, 100 + codec->block_values};  // a block more than there is
    const Status longer = codec->check(weight);
    ASSERT_FALSE(longer) << codec->name;
    EXPECT_EQ(longer.error().code, ErrorCode::kBadFile);
    weight.shape = {3, 100};
    weight.bytes = weight.bytes.first(weight.bytes.size() - 1);
    EXPECT_FALSE(codec->check(weight)) << codec->name;
  }
}

TEST(Blocks, CheckNamesTheTensorAndTheSizes) {
  Weight weight = random_weight(*find_codec("q4_K"), {2, 256}, 3);
  weight.bytes = weight.bytes.first(100);
  EXPECT_EQ(check_blocks(weight).error().message, "tensor random: q4_K [2, 256] takes 288 bytes, found 100");
  EXPECT_EQ(check_blocks(weight).error().where, "random");
}

TEST(Blocks, CheckRefusesSizesBeyondCounting) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const Shape shapes[] = {{kHuge, kHuge}, {kHuge, kHuge, 0}, {-1, -32}, {INT64_MAX}, {INT64_MAX / 2, 1}, {-1}};
  for (const char* name : {"f32", "q8_0", "q6_K"}) {
    for (const Shape& shape : shapes) {
      const Weight weight{"w", find_codec(name), shape, {}, {}, {}};
      EXPECT_FALSE(check_blocks(weight)) << name << " " << shape.to_string();
    }
  }
}

TEST(Blocks, AnEmptyWeightDecodesToNothing) {
  for (const Codec* codec : byte_codecs()) {
    const Weight weight{"w", codec, {0, 32}, {}, {}, {}};
    ASSERT_TRUE(codec->check(weight)) << codec->name;
    EXPECT_TRUE(weight.decode_all().empty());
  }
}

// Rows of 1, 7, 100 or 300 values lie across blocks of 32, 64 and 256 in every possible way.
TEST(Blocks, AnyRowsEqualThoseOfTheWholeWeight) {
  std::mt19937 random(4);
  for (const Codec* codec : byte_codecs()) {
    for (const int64_t row : {1, 7, 100, 300}) {
      const Weight weight = random_weight(*codec, {29, row}, 5);
      const std::vector<float> whole = weight.decode_all();
      for (int trial = 0; trial < 20; ++trial) {
        const auto first = static_cast<int64_t>(random() % 29), count = static_cast<int64_t>(random() % (30 - first));
        std::vector<float> rows(static_cast<size_t>(count * row) + 1, 12345.0f);
        weight.decode_rows(first, count, rows.data());
        ASSERT_EQ(std::memcmp(rows.data(), whole.data() + first * row, static_cast<size_t>(count * row) * 4), 0)
            << codec->name << " rows " << first << " + " << count << " of " << row;
        ASSERT_EQ(rows.back(), 12345.0f) << codec->name << " wrote past its rows";
      }
    }
  }
}

TEST(Blocks, NamesAreFoundInAnyCase) {
  EXPECT_EQ(find_codec("q4_k"), find_codec("q4_K"));
  EXPECT_EQ(find_codec("Q4_K"), find_codec("q4_K"));
  EXPECT_EQ(find_codec("F8_E4M3"), find_codec("f8_e4m3"));
  ASSERT_NE(find_codec("q4_k"), nullptr);
  EXPECT_EQ(find_codec("q4_k")->name, "q4_K");
  EXPECT_EQ(find_codec(""), nullptr);
  EXPECT_EQ(find_codec("q8_1"), nullptr);
}

TEST(Blocks, F64IsNarrowedToTheNearest) {
  const std::array<double, 4> values{0.1, -1e300, 1.0 + 0x1p-24, 1.0 + 3 * 0x1p-24};
  const Weight weight{"w", find_codec("f64"), {4}, std::as_bytes(std::span(values)), {}, {}};
  ASSERT_TRUE(check_blocks(weight));
  EXPECT_EQ(weight.decode_all(),
            (std::vector<float>{0.1f, -std::numeric_limits<float>::infinity(), 1.0f, 1.0f + 0x1p-22f}));
  EXPECT_EQ(weight.codec->encode, nullptr);
}

}  // namespace
}  // namespace veneer::codec
