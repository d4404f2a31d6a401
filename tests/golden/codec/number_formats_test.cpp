// Number formats without side parts against the reference libraries (tests/data/quant, versions in its index): plain
// number tables from PyTorch, GGUF blocks from ggml. Decoders and the encoders of the first GGUF formats must agree to
// the bit; the two k-quant encoders are our own search and are held to the reference's error.
#include <cmath>
#include <cstring>

#include "core/files.h"
#include "core/json.h"
#include "io/container.h"
#include "tests/support/golden.h"

namespace veneer::codec {
namespace {

class NumberFormats : public testing::Test {
 protected:
  void SetUp() override {
    const auto text = read_text_file(test::data_path("quant/number_formats.index.json"));
    ASSERT_TRUE(text) << text.error().message;
    const auto index = parse_json(*text, "number_formats.index.json");
    ASSERT_TRUE(index) << index.error().message;
    cases_ = (*index)["cases"];
    for (auto* store : {&plain_, &blocks_}) {
      auto opened = io::open_weights(
          test::data_path(store == &plain_ ? "quant/plain.safetensors" : "quant/gguf_blocks.safetensors"));
      ASSERT_TRUE(opened) << opened.error().message;
      *store = *std::move(opened);
    }
  }

  std::vector<Json> cases(std::string_view kind) const {
    std::vector<Json> found;
    for (const Json& one : cases_)
      if (one["kind"] == kind) found.push_back(one);
    return found;
  }

  // The bytes of a tensor of any type.
  static std::span<const std::byte> bytes(const io::WeightStore& store, const std::string& name) {
    const io::Entry* entry = store.find(name);
    EXPECT_NE(entry, nullptr) << name;
    return entry ? entry->weight.bytes : std::span<const std::byte>{};
  }
  static std::vector<float> floats(const io::WeightStore& store, const std::string& name) {
    const auto raw = bytes(store, name);
    std::vector<float> out(raw.size() / sizeof(float));
    std::memcpy(out.data(), raw.data(), raw.size());
    return out;
  }

  // A GGUF case's `dequant` tensor as a weight of the case's type and bytes.
  Weight weight_of(const Json& one) const {
    const auto id = one["id"].get<std::string>();
    const io::Entry* values = blocks_.find(id + ".dequant");
    EXPECT_NE(values, nullptr) << id;
    return {id, find_codec(one["type"].get<std::string>()), values->weight.shape, bytes(blocks_, id + ".bytes"), {},
            {}};
  }

  Json cases_;
  io::WeightStore plain_, blocks_;
};

std::vector<float> decoded(const Codec& codec, std::span<const std::byte> bytes) {
  const auto blocks = static_cast<int64_t>(bytes.size()) / codec.block_bytes;
  const Weight weight{"table", &codec, {blocks * codec.block_values}, bytes, {}, {}};
  EXPECT_TRUE(codec.check(weight));
  return weight.decode_all();
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// The first place where the bits differ, or -1. Any NaN is any other.
int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!same_bits(a[i], b[i]) && !(std::isnan(a[i]) && std::isnan(b[i]))) return static_cast<int64_t>(i);
  return -1;
}

double rms_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST_F(NumberFormats, PlainTablesDecodeToTheBit) {
  const auto tables = cases("scalar_tables");
  ASSERT_EQ(tables.size(), 4u);
  for (const Json& table : tables) {
    const std::string name = table["id"].get<std::string>().substr(6);  // behind "plain."
    const Codec* codec = find_codec(name);
    ASSERT_NE(codec, nullptr) << name;
    EXPECT_EQ(first_difference(decoded(*codec, bytes(plain_, "decode." + name + ".codes")),
                               floats(plain_, "decode." + name + ".f32_bits")),
              -1)
        << name;
  }
}

// F8 saturates (the rule of f8.h), F16 and BF16 go to infinity. NaN codes of one type are equal.
TEST_F(NumberFormats, PlainTablesEncodeToTheSameCodes) {
  for (const Json& table : cases("scalar_tables")) {
    const std::string name = table["id"].get<std::string>().substr(6);
    const Codec& codec = *find_codec(name);
    const std::vector<float> values = floats(plain_, "encode." + name + ".f32_bits");
    const auto expected = bytes(plain_, "encode." + name + (name.starts_with("f8") ? ".saturating" : ".nearest_even"));
    std::vector<std::byte> codes(expected.size());
    ASSERT_EQ(static_cast<int64_t>(codes.size()), encoded_bytes(codec, static_cast<int64_t>(values.size())));
    codec.encode(values, codes.data());
    EXPECT_EQ(first_difference(decoded(codec, codes), decoded(codec, expected)), -1) << name;
  }
}

TEST_F(NumberFormats, BlocksDecodeToTheBit) {
  int decoded_cases = 0, refused_cases = 0;
  for (const char* kind : {"gguf_blocks", "gguf_blocks_encoded"}) {
    for (const Json& one : cases(kind)) {
      const auto type = one["type"].get<std::string>();
      const Codec* codec = find_codec(type);
      if (type.starts_with("IQ1") || type.starts_with("IQ2") || type.starts_with("IQ3")) {
        EXPECT_EQ(codec, nullptr) << type << " is refused by name";
        ++refused_cases;
        continue;
      }
      ASSERT_NE(codec, nullptr) << type;
      EXPECT_EQ(codec->block_values, one["block"].get<int64_t>()) << type;
      EXPECT_EQ(codec->block_bytes, one["bytes_per_block"].get<int64_t>()) << type;
      const Weight weight = weight_of(one);
      ASSERT_TRUE(codec->check(weight)) << codec->check(weight).error().message;
      EXPECT_EQ(first_difference(weight.decode_all(), floats(blocks_, weight.name + ".dequant")), -1) << weight.name;
      ++decoded_cases;
    }
  }
  EXPECT_EQ(decoded_cases, 32);
  EXPECT_EQ(refused_cases, 7);
}

TEST_F(NumberFormats, FirstFormatsEncodeToTheReferencesBytes) {
  for (const char* type : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"}) {
    const std::string id = concat("gguf.", type, ".encoded");
    const std::vector<float> source = floats(blocks_, id + ".source");
    const Weight weight = weight_from(source, {static_cast<int64_t>(source.size())}, *find_codec(type));
    const auto expected = bytes(blocks_, id + ".bytes");
    EXPECT_TRUE(std::equal(weight.bytes.begin(), weight.bytes.end(), expected.begin(), expected.end())) << type;
  }
}

// Tolerance: 2 % above the reference's error, which leaves room for another search and none for a wrong one (a missing
// minimum or scale costs tens of per cent).
TEST_F(NumberFormats, KQuantEncodersReachTheReferencesError) {
  int measured = 0;
  for (const Json& one : cases("gguf_blocks_encoded")) {
    const Codec* codec = find_codec(one["type"].get<std::string>());
    if (!codec->name.ends_with("_K") || codec->encode == nullptr) continue;
    const std::vector<float> source = floats(blocks_, one["id"].get<std::string>() + ".source");
    const Weight weight = weight_from(source, {static_cast<int64_t>(source.size())}, *codec);
    const double error = rms_difference(weight.decode_all(), source), reference = one["rmse"].get<double>();
    EXPECT_LE(error, 1.02 * reference) << codec->name;
    ++measured;
  }
  EXPECT_EQ(measured, 2);
}

}  // namespace
}  // namespace veneer::codec
