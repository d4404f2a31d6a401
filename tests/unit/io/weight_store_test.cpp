// Stores: lookup and its errors, views under other names, layers, hashes, and files cut while they are open.
#include "io/weight_store.h"

#include "io/container.h"
#include "test_files.h"

namespace veneer::io {
namespace {

class WeightStores : public ::testing::Test {
 protected:
  WeightStore store(std::string_view name, const std::vector<NamedValues>& tensors,
                    const WeightStore::Metadata& metadata = {}) {
    auto opened = open_weights(write_f32(scratch_ / name, tensors, metadata));
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  ScratchFolder scratch_;
};

TEST_F(WeightStores, MissingTensorsAreNamedWithTheirNearest) {
  const WeightStore s =
      store("m.safetensors", {{"conv_in.weight", {1}}, {"conv_in.bias", {1}}, {"time.1", {1}}, {"zzz", {1}}});
  const auto missing = s.weight("conv_in.wieght");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(missing.error().message,
            concat((scratch_ / "m.safetensors").string(),
                   ": has no tensor conv_in.wieght (nearest: conv_in.weight, conv_in.bias, time.1)"));
  const auto nothing = WeightStore().weight("x");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message, "(no file): has no tensor x (it has none at all)");
}

TEST_F(WeightStores, TypesThatAreNoWeightAreUnsupported) {
  const auto path = scratch_.write(
      "types.safetensors",
      raw_safetensors(
          R"({"packed":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},"index":{"dtype":"I64","shape":[1],"data_offsets":[2,10]}})",
          "1234567890"));
  const auto s = open_weights(path);
  ASSERT_TRUE(s) << s.error().message;
  for (const auto& [name, type] : {std::pair("packed", "F4"), std::pair("index", "I64")}) {
    ASSERT_TRUE(s->contains(name));
    EXPECT_EQ(s->find(name)->type_name, type);
    EXPECT_EQ(s->find(name)->weight.codec, nullptr);
    const auto weight = s->weight(name);
    ASSERT_FALSE(weight);
    EXPECT_EQ(weight.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(
        contains(weight.error().message, concat("tensor ", name, ": the type ", type, " cannot be used as a weight")));
    EXPECT_TRUE(contains(weight.error().message, "f32, f16, bf16"));
  }
}

TEST_F(WeightStores, ChecksAWeightAgainstItsCodec) {
  WeightStore::Entries entries = store("m.safetensors", {{"a", {1, 2}}}).entries();
  entries.at("a").weight.shape = Shape{3};
  const auto weight = WeightStore(entries, {}, {}).weight("a");
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().code, ErrorCode::kBadFile);
}

TEST_F(WeightStores, ViewsUnderAPrefixKeepTheFullName) {
  const WeightStore s = store("m.safetensors", {{"a.", {9}}, {"a.b.x", {1}}, {"a.c", {2}}, {"ab.x", {3}}, {"b", {4}}});
  const WeightStore view = s.under("a.");
  ASSERT_EQ(view.entries().size(), 2u);
  EXPECT_EQ(view.weight("b.x")->name, "a.b.x");
  EXPECT_EQ(view.weight("c")->decode_all(), std::vector<float>({2}));
  EXPECT_TRUE(s.under("q").empty());
  EXPECT_EQ(s.under("").entries().size(), s.entries().size());
}

TEST_F(WeightStores, RenamesAndLeavesOut) {
  const WeightStore s = store("m.safetensors", {{"keep", {1}}, {"drop", {2}}});
  const WeightStore other = s.renamed([](std::string_view name) { return name == "drop" ? "" : concat("x.", name); });
  ASSERT_EQ(other.entries().size(), 1u);
  EXPECT_EQ(other.weight("x.keep")->decode_all(), std::vector<float>({1}));
  EXPECT_TRUE(s.contains("keep")) << "the store itself changed";
}

TEST_F(WeightStores, UpperLayerWins) {
  const WeightStore lower = store("lower.safetensors", {{"a", {1}}, {"b", {2}}}, {{"k", "lower"}, {"l", "lower"}});
  const WeightStore upper = store("upper.safetensors", {{"b", {20}}, {"c", {30}}}, {{"k", "upper"}});
  const WeightStore both = lower.layered(upper);
  EXPECT_EQ(both.weight("a")->decode_all(), std::vector<float>({1}));
  EXPECT_EQ(both.weight("b")->decode_all(), std::vector<float>({20}));
  EXPECT_EQ(both.weight("c")->decode_all(), std::vector<float>({30}));
  EXPECT_EQ(both.metadata(), (WeightStore::Metadata{{"k", "upper"}, {"l", "lower"}}));
  EXPECT_EQ(both.files().size(), 2u);
  EXPECT_EQ(lower.layered(lower).files().size(), 1u);
}

TEST_F(WeightStores, CountsValuesAndBytes) {
  const auto path = scratch_.write(
      "m.safetensors",
      raw_safetensors(
          R"({"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},"b":{"dtype":"F4","shape":[4],"data_offsets":[8,10]}})",
          "1234567890"));
  const auto s = open_weights(path);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->parameters(), 8);
  EXPECT_EQ(s->bytes(), 10u);
}

TEST_F(WeightStores, HashFollowsContentNotPlace) {
  const auto hash_of = [&](std::string_view header, std::string_view data) {
    const auto opened = open_weights(scratch_.write("h.safetensors", raw_safetensors(header, data)));
    EXPECT_TRUE(opened) << opened.error().message;
    return opened->content_hash();
  };
  const std::string hash = hash_of(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
      "123");
  EXPECT_EQ(hash.size(), 64u);
  // The same tensors the other way round, with metadata and blanks.
  EXPECT_EQ(
      hash,
      hash_of(
          R"({"__metadata__":{"k":"v"},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}  )",
          "312"));
  // A changed byte, name, type, shape, and a byte moved from one tensor to the other.
  EXPECT_NE(
      hash,
      hash_of(
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
          "124"));
  EXPECT_NE(
      hash,
      hash_of(
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"c":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
          "123"));
  EXPECT_NE(
      hash,
      hash_of(
          R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
          "123"));
  EXPECT_NE(
      hash,
      hash_of(
          R"({"a":{"dtype":"U8","shape":[2,1],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
          "123"));
  EXPECT_NE(
      hash,
      hash_of(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
          "123"));
}

TEST_F(WeightStores, AFileCutWhileOpenIsNoticed) {
  const auto path = write_f32(scratch_ / "m.safetensors", {{"a", std::vector<float>(4096, 1.0f)}});
  const auto s = open_weights(path);
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->still_whole());
  std::filesystem::resize_file(path, 1000);
  const Status status = s->under("a").still_whole();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kBadFile);
  EXPECT_TRUE(contains(status.error().message, "m.safetensors: was cut from "));
}

}  // namespace
}  // namespace veneer::io
