// Codecs with side parts: small weights by hand, and whatever does not fit is refused before anything is read.
#include <gtest/gtest.h>

#include <random>

#include "codec/sdnq_types.h"
#include "codec/weight.h"

namespace veneer::codec {
namespace {

Weight plain(const std::vector<float>& values, const Shape& shape) {
  return weight_from(values, shape, *find_codec("f32"), "side");
}

// `bytes` under `codec`, with side parts to be added before `made`.
struct Draft {
  Draft(std::string_view codec, const Shape& shape, std::vector<uint8_t> bytes) {
    const auto memory = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    weight = {"w", find_codec(codec), shape, std::as_bytes(std::span(*memory)), memory, nullptr};
  }
  Draft& part(const std::string& key, Weight value) {
    side.tensors.insert_or_assign(key, std::move(value));
    return *this;
  }
  Draft& set(const std::string& key, int64_t value) {
    side.settings[key] = value;
    return *this;
  }
  Weight made() const {
    Weight out = weight;
    out.side = std::make_shared<SideParts>(side);
    return out;
  }
  std::string refusal() const {
    const Weight out = made();
    const Status checked = out.codec->check(out);
    return checked ? "accepted" : checked.error().message;
  }
  std::vector<float> values() const {
    EXPECT_EQ(refusal(), "accepted");
    return made().decode_all();
  }

  Weight weight;
  SideParts side;
};

int64_t type(std::string_view name) { return to_setting(*parse_sdnq_type(name)); }

Draft int8_rows() {
  return Draft("sdnq", {2, 4}, {1, 2, 3, 4, 255, 254, 253, 252})
      .set("type", type("int8"))
      .part("scale", plain({0.5f, 2.0f}, {2, 1}));
}

TEST(Sdnq, ScaleOfEachRow) { EXPECT_EQ(int8_rows().values(), std::vector<float>({0.5f, 1, 1.5f, 2, -2, -4, -6, -8})); }

TEST(Sdnq, ScaleAndZeroPointOfEachGroup) {
  Draft draft("sdnq", {1, 4}, {0x21, 0x43});
  draft.set("type", type("uint4"))
      .part("scale", plain({1, 10}, {1, 2, 1}))
      .part("zero_point", plain({0.5f, -3}, {1, 2, 1}));
  EXPECT_EQ(draft.values(), std::vector<float>({1.5f, 2.5f, 27, 37}));
}

TEST(Sdnq, ScaleOfEachKernelPosition) {
  Draft draft("sdnq", {1, 2, 1, 2}, {1, 2, 3, 4});
  draft.set("type", type("int8")).part("scale", plain({1, 10}, {1, 1, 1, 2}));
  EXPECT_EQ(draft.values(), std::vector<float>({1, 20, 3, 40}));
}

// A square weight does not show that it is transposed: only its scale does.
TEST(Sdnq, ShapeOfTheScaleTellsTransposedStorage) {
  Draft draft("sdnq", {2, 2}, {1, 2, 3, 4});
  draft.set("type", type("int8")).set("stored_rows", 2).part("scale", plain({1, 10}, {2, 1}));
  EXPECT_EQ(draft.values(), std::vector<float>({1, 2, 30, 40}));
  draft.part("scale", plain({1, 10}, {1, 2}));
  EXPECT_EQ(draft.values(), std::vector<float>({1, 3, 20, 40}));
}

// With one scale for all the weight's own shape tells, and for a square one the file's configuration.
TEST(Sdnq, ConfigurationTellsWhereShapesAreSilent) {
  std::vector<uint8_t> codes(32 * 32);
  codes[1] = 7;  // row 0, input 1 as it lies; row 1, input 0 transposed
  Draft draft("sdnq", {32, 32}, codes);
  draft.set("type", type("int8")).set("stored_rows", 32).part("scale", plain({1}, {1, 1}));
  EXPECT_EQ(draft.values()[1], 7.0f);
  draft.set("product_linear", 1).set("product_weight", 1);
  EXPECT_EQ(draft.values()[1], 0.0f);
  EXPECT_EQ(draft.values()[32], 7.0f);
  draft.set("product_weight", 0);
  EXPECT_EQ(draft.values()[1], 7.0f);
}

TEST(Sdnq, LowRankPartIsAddedInEitherStorage) {
  Draft draft = int8_rows();
  draft.part("svd_up", plain({1, 2}, {2, 1})).part("svd_down", plain({10, 20, 30, 40}, {1, 4}));
  const std::vector<float> expected = {10.5f, 21, 31.5f, 42, 18, 36, 54, 72};
  EXPECT_EQ(draft.values(), expected);
  draft.part("svd_up", plain({1, 2}, {1, 2})).part("svd_down", plain({10, 20, 30, 40}, {4, 1}));
  EXPECT_EQ(draft.values(), expected);
}

// (codes x scales + low-rank part) un-rotated, in this order: constant rows become one value.
TEST(Sdnq, RotationIsUndoneLast) {
  Draft draft("sdnq", {1, 4}, {1, 1, 1, 255});
  draft.set("type", type("int8")).set("rotation_cap", 256).part("scale", plain({1}, {1, 1}));
  EXPECT_EQ(draft.values(), std::vector<float>({2, 0, 0, 0}));
  draft.part("svd_up", plain({1}, {1, 1})).part("svd_down", plain({1, 1, 1, -1}, {1, 4}));
  EXPECT_EQ(draft.values(), std::vector<float>({4, 0, 0, 0}));
}

TEST(Sdnq, CodebookIsIndexed) {
  Draft draft("sdnq", {2, 4}, {0b11100100, 0b00000001});
  draft.set("type", type("uint2")).set("codebook", 1).part("scale", plain({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}));
  EXPECT_EQ(draft.values(), std::vector<float>({1, 2, 3, 4, 6, 5, 5, 5}));
}

TEST(Sdnq, RefusesWhatDoesNotFit) {
  Draft none("sdnq", {2, 4}, std::vector<uint8_t>(8));
  EXPECT_TRUE(contains(none.refusal(), "has no scale"));
  EXPECT_TRUE(contains(none.weight.codec->check(none.weight).error().message, "has no side tensors"));
  const auto refused = [](auto change, const char* sentence) {
    Draft draft = int8_rows();
    change(draft);
    EXPECT_TRUE(contains(draft.refusal(), sentence)) << draft.refusal();
  };
  refused([](Draft& d) { d.weight.bytes = d.weight.bytes.first(7); }, "take 8 bytes, found 7 bytes");
  refused([](Draft& d) { d.weight.shape = {4, 4}; }, "take 16 bytes, found 8 bytes");
  refused([](Draft& d) { d.weight.shape = {0, 4}; }, "is empty");
  refused([](Draft& d) { d.set("type", type("uint3")); }, "codes of 3 bits take 3 bytes");
  refused([](Draft& d) { d.part("scale", plain({1, 1, 1}, {3, 1})); }, "its scale [3, 1] cannot be spread over it");
  refused([](Draft& d) { d.part("scale", plain(std::vector<float>(6), {2, 3, 1})); }, "cannot be spread over it");
  refused([](Draft& d) { d.part("scale", plain({1, 1}, {1, 2})); }, "cannot be spread over it");  // not [inputs, rows]
  refused([](Draft& d) { d.part("scale", plain({1, 1, 1, 1}, {4, 1})); }, "cannot be spread over it");
  refused([](Draft& d) { d.part("zero_point", plain({1}, {1, 1})); }, "its zero point [1, 1] is unlike its scale");
  refused([](Draft& d) { d.part("svd_up", plain({1, 1}, {2, 1})); }, "only one of svd_up and svd_down");
  refused(
      [](Draft& d) {
        d.part("svd_up", plain({1, 1}, {2, 1})).part("svd_down", plain({1, 1}, {1, 2}));
      },
      "do not fit it");
  refused([](Draft& d) { d.set("codebook", 1); }, "a codebook needs codes without a sign");
  refused(
      [](Draft& d) {
        Weight cut = plain({1, 1}, {2, 1});
        cut.bytes = cut.bytes.first(4);
        d.part("scale", cut);
      },
      "tensor side: f32 [2] takes 8 bytes, found 4");
  EXPECT_EQ(int8_rows().refusal(), "accepted");
}

TEST(Scaled, ScaleOfTheTensorOrOfEachRow) {
  Draft draft("f8_e4m3_scaled", {2, 2}, {0x7E, 0xFE, 0x76, 0x00});  // 448, -448, 224, 0
  draft.part("scale", plain({1.0f / 448}, {}));
  const std::vector<float> values = draft.values();
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], (std::vector<float>{1, -1, 0.5f, 0})[i], 1e-6);
  draft.part("scale", plain({2, 0.5f}, {2, 1}));
  EXPECT_EQ(draft.values(), std::vector<float>({896, -896, 112, 0}));
  draft.weight.codec = find_codec("f8_e5m2_scaled");
  draft.weight.bytes = draft.weight.bytes.first(3);
  EXPECT_TRUE(contains(draft.refusal(), "takes 4 bytes, found 3"));
}

TEST(Scaled, RefusesWhatDoesNotFit) {
  Draft draft("int8_scaled", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(contains(draft.refusal(), "has no scale"));
  draft.part("scale", plain({1, 2, 3}, {3}));
  EXPECT_TRUE(contains(draft.refusal(), "expected a scale of one or 2 values, found [3]"));
  draft.part("scale", plain({1}, {1})).set("rotation", 8);
  EXPECT_TRUE(contains(draft.refusal(), "cannot be rotated in groups of 8"));
  for (const int64_t group : {int64_t{-4}, int64_t{3}, INT64_MIN})
    EXPECT_NE(draft.set("rotation", group).refusal(), "accepted");
  EXPECT_EQ(draft.set("rotation", 4).values(), std::vector<float>({1, 2, 3, 4, 5, 6, 7, 8}));
}

// Codes 1.0 everywhere; the scales' order and the nibbles' are what differs between the two makers.
TEST(Nvfp4, NibblesAndScalesOfBothMakers) {
  Draft draft("nvfp4_scaled", {1, 32}, std::vector<uint8_t>(16, 0x42));  // E2M1 2 is 1, 4 is 2
  draft.part("scale", plain({0.5f}, {})).set("stored_rows", 1).set("stored_columns", 32).set("tiled", 0);
  const auto scales = [](std::vector<uint8_t> bytes) {
    const auto memory = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    const Shape shape{static_cast<int64_t>(memory->size())};
    return Weight{"scales", nullptr, shape, std::as_bytes(std::span(*memory)), memory, nullptr};
  };
  draft.part("block_scale", scales({0x38, 0x40}));  // 1, 2
  std::vector<float> values = draft.values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 2), std::vector<float>({0.5f, 1}));
  EXPECT_EQ(std::vector<float>(values.end() - 2, values.end()), std::vector<float>({1, 2}));
  std::vector<uint8_t> tile(512);
  tile[0] = 0x38;
  tile[1] = 0x40;
  draft.set("tiled", 1).part("block_scale", scales(tile));
  values = draft.values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 2), std::vector<float>({1, 0.5f}));
  EXPECT_EQ(std::vector<float>(values.end() - 2, values.end()), std::vector<float>({2, 1}));
  draft.weight.shape = {1, 24};  // padded to 32
  EXPECT_EQ(draft.values().size(), 24u);
  draft.weight.shape = {1, 8};
  EXPECT_TRUE(contains(draft.refusal(), "does not fit what is stored, 1 rows of 32"));
  draft.weight.shape = {1, 40};
  EXPECT_TRUE(contains(draft.refusal(), "does not fit what is stored"));
  draft.weight.shape = {1, 32};
  draft.part("block_scale", scales({1, 2}));
  EXPECT_TRUE(contains(draft.refusal(), "expected 512 block scales, found [2]"));
}

TEST(Bitsandbytes, BlocksRunAcrossRows) {
  std::vector<float> table(16);
  for (size_t i = 0; i < 16; ++i) table[i] = static_cast<float>(i);
  Draft draft("bnb_nf4", {2, 3}, {0x12, 0x34, 0x56});
  draft.set("block", 4).part("table", plain(table, {16})).part("absmax", plain({1, 10}, {2}));
  EXPECT_EQ(draft.values(), std::vector<float>({1, 2, 3, 4, 50, 60}));
  std::vector<float> row(3);
  draft.made().decode_rows(1, 1, row.data());
  EXPECT_EQ(row, std::vector<float>({4, 50, 60}));
  draft.set("block", 0);
  EXPECT_TRUE(contains(draft.refusal(), "blocks of 0 values"));
  draft.set("block", 2);
  EXPECT_TRUE(contains(draft.refusal(), "expected 3 values of absmax, found [2]"));
  draft.weight.shape = {2, 4};
  EXPECT_TRUE(contains(draft.refusal(), "takes 4 bytes, found 3"));
}

// Weights put together at random, most of them wrong: whatever the check lets through decodes within its bytes, which
// end where their memory ends (an address sanitizer sees one byte beyond).
TEST(SideParts, WhatTheCheckAcceptsStaysWithinItsBytes) {
  std::mt19937 random(4);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  const auto shape = [&] {
    constexpr int64_t kSizes[] = {1, 1, 2, 4, 8, 16, 32};
    std::vector<int64_t> sizes(static_cast<size_t>(1 + below(4)));
    for (int64_t& size : sizes) size = kSizes[below(7)];
    return Shape(std::span<const int64_t>(sizes));
  };
  const auto part = [&](const Shape& sizes) {
    return plain(std::vector<float>(static_cast<size_t>(sizes.elements()), 0.5f), sizes);
  };
  const char* const types[] = {"int8", "uint4", "int4", "uint2", "float6_e3m2fn", "int9", "uint1", "float16", "uint8"};
  int accepted = 0, refused = 0;
  for (int round = 0; round < 60000; ++round) {
    const Shape sizes = shape();
    const SdnqType number = *parse_sdnq_type(types[below(std::size(types))]);
    const int word_bytes = number.bits > 8 ? 2 : 1;
    const int64_t fitting = sdnq_bytes(number, word_bytes, sizes.elements()).value_or(8);
    Draft draft("sdnq", sizes, std::vector<uint8_t>(static_cast<size_t>(below(8) ? fitting : 1 + below(64)), 0x5A));
    draft.set("type", to_setting(number)).set("word_bytes", below(16) ? word_bytes : 8);
    draft.set("codebook", below(4) == 0)
        .set("rotation_cap", below(2) * 16)
        .set("stored_rows", sizes[below(2) % sizes.rank()]);
    const Shape scale = below(2) ? Shape{sizes[0], 1} : below(2) ? Shape{1, sizes[0]} : shape();
    draft.part("scale", part(scale));
    if (below(2)) draft.part("zero_point", part(below(8) ? scale : shape()));
    const int64_t rank = 1 + below(3), row_values = sizes.elements() / sizes[0];
    if (below(3) == 0)
      draft.part("svd_up", part(below(2) ? Shape{sizes[0], rank} : Shape{rank, sizes[0]}))
          .part("svd_down", part(below(2) ? Shape{rank, row_values} : Shape{row_values, rank}));
    const Weight weight = draft.made();
    if (weight.codec->check(weight)) {
      ++accepted;
      (void)weight.decode_all();
    } else {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 3000);
  EXPECT_GT(refused, 3000);
}

}  // namespace
}  // namespace veneer::codec
