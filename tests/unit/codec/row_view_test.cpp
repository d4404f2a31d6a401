// Rows of a weight as a weight: every codec gives the same numbers through a view as without one.
#include "codec/row_view.h"

#include <gtest/gtest.h>

#include <bit>

#include "codec/form_of.h"
#include "codec/sdnq_types.h"
#include "tests/unit/codec/random_blocks.h"

namespace veneer::codec {
namespace {

// Equal bit for bit: random bytes hold NaN.
std::vector<uint32_t> bits(const std::vector<float>& values) {
  std::vector<uint32_t> out;
  for (const float value : values) out.push_back(std::bit_cast<uint32_t>(value));
  return out;
}

// What a view must decode to, out of the whole one's numbers.
std::vector<float> expected_rows(const Weight& whole, int64_t first, int64_t count) {
  const std::vector<float> all = whole.decode_all();
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) {
    const float* row = all.data() + (first + i) % whole.rows() * whole.row_values();
    out.insert(out.end(), row, row + whole.row_values());
  }
  return out;
}

// All rows at once, and each row alone.
void expect_rows(const Weight& whole, int64_t first, int64_t count) {
  SCOPED_TRACE(concat(whole.codec->name, " ", whole.shape.to_string(), " from ", first, " count ", count));
  const Weight view = rows_of(whole, first, count);
  ASSERT_TRUE(view.codec->check(view)) << view.codec->check(view).error().message;
  ASSERT_EQ(view.rows(), count);
  ASSERT_EQ(view.row_values(), whole.row_values());
  const std::vector<float> expected = expected_rows(whole, first, count);
  EXPECT_EQ(bits(view.decode_all()), bits(expected));
  std::vector<float> single(expected.size());
  for (int64_t row = 0; row < count; ++row) view.decode_rows(row, 1, single.data() + row * whole.row_values());
  EXPECT_EQ(bits(single), bits(expected));
}

Weight sdnq_weight(const Shape& shape) {
  Weight weight = random_weight(*find_codec("sdnq"), shape, 3);
  weight.name = "fused.weight";
  auto side = std::make_shared<SideParts>();
  side->settings = {{"type", to_setting(*parse_sdnq_type("int8"))}};
  side->tensors = {
      {"scale", weight_from(random_normal(static_cast<size_t>(shape[0]), 1, 4), {shape[0], 1}, *find_codec("f32"))}};
  weight.side = std::move(side);
  return weight;
}

constexpr int64_t kRows = 6;

void expect_all_views(const Weight& whole) {
  expect_rows(whole, 0, 2);
  expect_rows(whole, 2, 3);
  expect_rows(whole, 0, kRows);
  expect_rows(whole, kRows / 2, kRows);  // halves swapped
  expect_rows(whole, 5, 3);              // around the end
}

TEST(RowView, EveryCodecOfBytes) {
  for (const Codec* codec : byte_codecs()) {
    expect_all_views(random_weight(*codec, {kRows, 256}, 1));
    expect_all_views(random_weight(*codec, {kRows, 64}, 2));  // rows that are less than a block of the K formats
  }
}

TEST(RowView, CodecWithSideParts) { expect_all_views(sdnq_weight({kRows, 32})); }

TEST(RowView, ViewOfAView) {
  for (const Weight& whole : {sdnq_weight({kRows, 32}), random_weight(*find_codec("q4_k"), {kRows, 64}, 2)})
    expect_rows(rows_of(whole, 4, 5), 2, 2);
}

TEST(RowView, Convolutions) {
  const Weight whole = weight_from(random_normal(6 * 4 * 9, 1, 5), {6, 4, 3, 3}, *find_codec("f16"));
  expect_all_views(whole);
  EXPECT_EQ(rows_of(whole, 3, 2).shape, Shape({2, 4, 3, 3}));
}

TEST(RowView, RunsOfBlocksAreSlicesOfTheBytes) {
  const Weight whole = random_weight(*find_codec("q4_k"), {kRows, 256}, 1);
  const Weight view = rows_of(whole, 2, 3);
  EXPECT_EQ(view.codec, whole.codec);
  EXPECT_EQ(view.bytes.data(), whole.bytes.data() + 2 * whole.codec->block_bytes);
  EXPECT_EQ(view.bytes.size(), static_cast<size_t>(3 * whole.codec->block_bytes));
}

TEST(RowView, CountsItsShareOfTheBytes) {
  const Weight q4 = random_weight(*find_codec("q4_k"), {kRows, 256}, 1), sdnq = sdnq_weight({kRows, 32});
  for (const Weight& whole : {q4, sdnq}) {
    EXPECT_EQ(rows_of(whole, 2, 3).stored_bytes(), whole.stored_bytes() / 2);
    EXPECT_EQ(rows_of(whole, 3, kRows).stored_bytes(), whole.stored_bytes());
  }
}

TEST(RowView, IsHeldInTheFormOfTheWhole) {
  const Weight whole = sdnq_weight({kRows, 32}), view = rows_of(whole, 2, 3);
  EXPECT_EQ(form_name(view), form_name(whole));
  ASSERT_TRUE(form_of(view).has_value());
  EXPECT_EQ(form_of(view)->index(), form_of(whole)->index());
  EXPECT_EQ(whole_of(view).codec, whole.codec);
  EXPECT_EQ(whole_of(view).shape, whole.shape);
  EXPECT_EQ(whole_of(whole).codec, whole.codec);
}

// The file does not tell the shape: the layer that takes the view sets it, and with it that of the whole.
TEST(RowView, OpenShapeStaysOpen) {
  Weight whole = sdnq_weight({kRows, 32});
  auto side = std::make_shared<SideParts>(*whole.side);
  side->settings["open_shape"] = 1;
  whole.side = side;
  const std::vector<float> expected = expected_rows(whole, 2, 3);
  whole.shape = {kRows, 99};
  Weight view = rows_of(whole, 2, 3);
  ASSERT_TRUE(view.shape_is_open());
  EXPECT_FALSE(view.codec->check(view));
  view.shape = {3, 32};
  ASSERT_TRUE(view.codec->check(view));
  EXPECT_EQ(view.decode_all(), expected);
}

TEST(RowView, ADamagedWholeIsRefused) {
  for (Weight whole : {sdnq_weight({kRows, 32}), random_weight(*find_codec("q4_k"), {kRows, 64}, 2)}) {
    whole.bytes = whole.bytes.first(whole.bytes.size() - 1);
    const Weight view = rows_of(whole, 2, 3);
    const Status checked = view.codec->check(view);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::kBadFile);
  }
}

TEST(RowView, MoreRowsThanStoredAreRefused) {
  Weight view = rows_of(sdnq_weight({kRows, 32}), 2, 3);
  view.shape = {kRows + 1, 32};
  const Status checked = view.codec->check(view);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("tensor fused.weight"), std::string::npos) << checked.error().message;
}

}  // namespace
}  // namespace veneer::codec
