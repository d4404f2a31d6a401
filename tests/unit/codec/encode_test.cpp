// Every form that weights are stored in: what is decoded again lies within half a step of what was encoded, encoding
// it once more changes nothing, and what a form cannot hold is refused by name.
#include "codec/encode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "codec/side.h"
#include "core/format.h"

namespace veneer::codec {
namespace {

using Encoded = std::vector<std::vector<std::byte>>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Form form_of(std::string_view name) {
  const auto form = find_form(name);
  EXPECT_TRUE(form.has_value()) << name;
  return form.value_or(PlainForm{find_codec("f32")});
}

// Weights as they occur, with a row of zeros, a row of equal values and an outlier.
std::vector<float> sample(const Shape& shape, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.05f);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& value : values) value = normal(random);
  const auto row = static_cast<int64_t>(values.size()) / shape[0];
  std::fill_n(values.begin(), row, 0.0f);
  std::fill_n(values.begin() + row, row, 0.7f);
  values[static_cast<size_t>(2 * row)] = 3.0f;
  return values;
}

Encoded encoded(const Form& form, std::span<const float> values, const Shape& shape) {
  auto bytes = encode(form, values, shape, "w");
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? *std::move(bytes) : Encoded{};
}

std::vector<float> decoded(const Form& form, const Encoded& bytes, const Shape& shape) {
  const Weight weight = decodable(form, bytes, shape, "w");
  const Status checked = weight.codec->check(weight);
  EXPECT_TRUE(checked) << checked.error().message;
  return checked ? weight.decode_all() : std::vector<float>{};
}

std::string refusal(const Form& form, std::vector<float> values, const Shape& shape) {
  const auto bytes = encode(form, values, shape, "model.w");
  return bytes ? "accepted" : bytes.error().message;
}

TEST(Forms, AreFoundByNameInEitherCase) {
  for (const std::string& name : form_names()) EXPECT_TRUE(find_form(name)) << name;
  EXPECT_EQ(std::get<PlainForm>(form_of("Q4_k")).codec, find_codec("q4_K"));
  EXPECT_TRUE(std::get<ScaledForm>(form_of("f8_e5m2_scaled_rows")).per_row);
  const auto sdnq = std::get<SdnqForm>(form_of("SDNQ_uint4_svd"));
  EXPECT_EQ(sdnq.type, *parse_sdnq_type("uint4"));
  EXPECT_EQ(sdnq.svd_rank, 32);
  for (const char* name : {"", "f64", "q2_K", "mxfp4", "sdnq", "sdnq_int3", "f8_e4m3_scaled_", "int8_scaled"})
    EXPECT_FALSE(find_form(name)) << name;
}

TEST(Forms, SpellTypesAsContainersDo) {
  EXPECT_EQ(type_name(*find_codec("q4_K")), "Q4_K");
  EXPECT_EQ(type_name(*find_codec("f8_e4m3")), "F8_E4M3");
  const auto plain = stored_tensors(form_of("bf16"), {2, 3});
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0].suffix, "");
  EXPECT_EQ(plain[0].type, "BF16");
  EXPECT_EQ(plain[0].shape, (Shape{2, 3}));
}

TEST(Forms, SayWhichShapesTheyHold) {
  EXPECT_TRUE(stored_tensors(form_of("q4_K"), {4, 320}).empty());
  EXPECT_TRUE(stored_tensors(form_of("q8_0"), {64, 3, 3, 3}).empty());
  EXPECT_FALSE(stored_tensors(form_of("q8_0"), {4, 320}).empty());
  EXPECT_FALSE(stored_tensors(form_of("f16"), {}).empty());
  EXPECT_TRUE(stored_tensors(form_of("q8_0"), {}).empty());
  for (const char* name : {"f8_e4m3_scaled", "sdnq_int8"}) {
    EXPECT_TRUE(stored_tensors(form_of(name), {64}).empty()) << name;
    EXPECT_TRUE(stored_tensors(form_of(name), {}).empty()) << name;
    EXPECT_TRUE(stored_tensors(form_of(name), {0, 4}).empty()) << name;
    EXPECT_FALSE(stored_tensors(form_of(name), {3, 5}).empty()) << name;
  }
  EXPECT_TRUE(stored_tensors(form_of("sdnq_uint4"), {3, 5}).empty()) << "an odd number of codes";
  EXPECT_THROW((void)encode(form_of("q8_0"), sample({3, 5}), {3, 5}, "w"), std::logic_error);
}

// The bytes of every tensor are as many as its type and shape take: a container counts on it.
class EveryForm : public testing::TestWithParam<std::string> {};

TEST_P(EveryForm, TakesTheBytesItSays) {
  const Form form = form_of(GetParam());
  for (const Shape& shape : {Shape{6, 256}, Shape{4, 256, 1, 1}, Shape{3, 4, 2, 256}}) {
    const auto tensors = stored_tensors(form, shape);
    if (tensors.empty()) continue;  // rows of one value are no block
    const Encoded bytes = encoded(form, sample(shape), shape);
    ASSERT_EQ(bytes.size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const bool codes = tensors[i].type == "I8" || tensors[i].type == "U8";
      const int64_t elements = tensors[i].shape.elements();
      EXPECT_EQ(static_cast<int64_t>(bytes[i].size()),
                codes ? elements : encoded_bytes(*find_codec(tensors[i].type), elements))
          << tensors[i].suffix;
    }
  }
}

// Numbers that are no numbers are refused, but F8 saturates.
TEST_P(EveryForm, RefusesWhatIsNotFinite) {
  const Form form = form_of(GetParam());
  for (const float bad : {kInfinity, -kInfinity, kNan}) {
    std::vector<float> values = sample({4, 256});
    values[700] = bad;
    const std::string said = refusal(form, values, {4, 256});
    if (GetParam() == "f8_e4m3" || GetParam() == "f8_e5m2")
      EXPECT_EQ(said, "accepted");
    else
      EXPECT_TRUE(contains(said, "tensor model.w: value 700 is ")) << said;
  }
}

// At most a fraction of the value, or of the step where codes are equally spaced, apart from float32's own rounding.
struct Bound {
  double of_value, absolute;
};
Bound bound_of(std::string_view name) {
  const bool e4m3 = contains(name, "e4m3");
  if (name == "f32") return {0, 0};
  if (name == "f16") return {0x1p-11, 0x1p-25};
  if (name == "bf16") return {0x1p-8, 0};
  return e4m3 ? Bound{0x1p-4, 0x1p-10} : Bound{0x1p-3, 0x1p-17};
}

TEST_P(EveryForm, DecodesWithinHalfAStep) {
  const std::string& name = GetParam();
  if (name.starts_with("q") || name.starts_with("sdnq")) return;  // quants_test.cpp, sdnq_encode_test.cpp
  const Shape shape{16, 256};
  const Form form = form_of(name);
  const std::vector<float> values = sample(shape);
  const Weight weight = decodable(form, encoded(form, values, shape), shape, "w");
  const std::vector<float> back = weight.decode_all();
  std::vector<float> scale = {1};
  if (weight.side) scale = side_numbers(*weight.side->find("scale"), 0, weight.side->find("scale")->elements());
  EXPECT_EQ(scale.size(), name.ends_with("_rows") ? 16u : 1u);
  const Bound bound = bound_of(name);
  for (size_t i = 0; i < values.size(); ++i) {
    const double row_scale = scale[scale.size() == 1 ? 0 : i / 256];
    const double most = bound.of_value * std::abs(values[i]) + bound.absolute * row_scale;
    ASSERT_LE(std::abs(double{back[i]} - values[i]), most * (1 + 1e-6)) << i;
  }
}

// The bytes of codes are the same again; a scale is found again to within float32's rounding of a product and a
// quotient, which is one unit of its last place.
TEST_P(EveryForm, EncodesWhatItDecodedToTheSame) {
  const std::string& name = GetParam();
  if (name.starts_with("q") || contains(name, "svd")) return;  // block types search, factors are taken out anew
  const Shape shape{16, 256};
  const Form form = form_of(name);
  const Encoded once = encoded(form, sample(shape), shape);
  const Encoded twice = encoded(form, decoded(form, once, shape), shape);
  ASSERT_EQ(once.size(), twice.size());
  EXPECT_EQ(once[0], twice[0]);
  for (size_t i = 1; i < once.size(); ++i) {
    const auto floats = [&](const Encoded& bytes) {
      std::vector<float> out(bytes[i].size() / sizeof(float));
      std::memcpy(out.data(), bytes[i].data(), bytes[i].size());
      return out;
    };
    const std::vector<float> a = floats(once), b = floats(twice);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_LE(std::abs(a[k] - b[k]), std::abs(a[k]) * 0x1p-22f) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Names, EveryForm, testing::ValuesIn(form_names()),
                         [](const auto& name) { return name.param; });

TEST(Plain, IsWhatTheCodecWrites) {
  const Shape shape{8, 512};
  const std::vector<float> values = sample(shape);
  for (const char* name : {"f16", "q4_0", "q8_0", "q6_K"}) {
    const Weight expected = weight_from(values, shape, *find_codec(name));
    const Encoded bytes = encoded(form_of(name), values, shape);
    EXPECT_TRUE(std::ranges::equal(bytes.at(0), expected.bytes)) << name;
  }
}

TEST(Plain, PiecesAreTheWhole) {
  const Shape shape{8, 512};
  const std::vector<float> values = sample(shape);
  for (const char* name : {"bf16", "f8_e4m3", "q5_1", "q4_K"}) {
    const Codec& codec = *find_codec(name);
    const Encoded whole = encoded(form_of(name), values, shape);
    std::vector<std::byte> pieces(whole.at(0).size());
    const size_t row_bytes = pieces.size() / 8;
    for (size_t row : {5, 0, 1, 7, 2, 6, 3, 4})
      ASSERT_TRUE(encode_values(codec, std::span(values).subspan(row * 512, 512), "w",
                                std::span(pieces).subspan(row * row_bytes, row_bytes)));
    EXPECT_EQ(pieces, whole[0]) << name;
  }
  std::vector<std::byte> out(4);
  const float bad[] = {1, kNan};
  const Status status = encode_values(*find_codec("f16"), bad, "model.w", out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(status.error().where, "model.w");
  EXPECT_TRUE(contains(status.error().message, "tensor model.w: value 1 is nan, which cannot be encoded"));
  EXPECT_THROW((void)encode_values(*find_codec("f16"), bad, "w", std::span(out).first(3)), std::logic_error);
}

// What would become an infinity is as bad as one.
TEST(Plain, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(refusal(form_of("f16"), {65519.996f, -65519.996f}, {2}), "accepted");
  EXPECT_TRUE(contains(refusal(form_of("f16"), {0, -65520.0f}, {2}),
                       "value 1 is -65520, too large for the type asked for; choose bf16 or f32"));
  EXPECT_EQ(refusal(form_of("bf16"), {0x1.FEFFFEp127f}, {1}), "accepted");
  EXPECT_TRUE(contains(refusal(form_of("bf16"), {0x1.FFp127f}, {1}), "too large"));
  EXPECT_EQ(refusal(form_of("f32"), {0x1.FFFFFEp127f}, {1}), "accepted");
  std::vector<float> block(32, 70000.0f);
  EXPECT_TRUE(contains(refusal(form_of("q4_1"), block, {1, 32}), "value 0 is 70000, too large"));
  EXPECT_TRUE(contains(refusal(form_of("sdnq_uint4"), {1, 70000}, {1, 2}), "value 1 is 70000, too large"));
}

TEST(Scaled, UsesTheWholeRangeAndKeepsZeros) {
  const Shape shape{3, 2};
  const std::vector<float> values = {1, -2, 0, 0, 0.25f, 1e-3f};
  for (const char* name : {"f8_e4m3", "f8_e5m2"}) {
    const Form rows = form_of(concat(name, "_scaled_rows"));
    const Encoded bytes = encoded(rows, values, shape);
    const std::vector<float> back = decoded(rows, bytes, shape);
    EXPECT_EQ(back[1], -2.0f);
    EXPECT_EQ(back[2], 0.0f);
    EXPECT_EQ(back[4], 0.25f);
    const Weight scales = *decodable(rows, bytes, shape, "w").side->find("scale");
    EXPECT_EQ(scales.shape, (Shape{3}));
    EXPECT_EQ(scales.decode_all()[1], 1.0f) << "the scale of zeros is 1, not 0";
    const auto whole = stored_tensors(form_of(concat(name, "_scaled")), shape);
    EXPECT_EQ(whole.at(1).suffix, ".weight_scale");
    EXPECT_EQ(whole.at(1).shape, Shape{});
  }
}

}  // namespace
}  // namespace veneer::codec
