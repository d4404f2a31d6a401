// The layout of GGUF files against the reader, and against a file that the format's owner wrote.
#include "io/gguf_write.h"

#include <algorithm>

#include "byte_builders.h"
#include "io/container.h"
#include "io/gguf_header.h"
#include "test_files.h"

namespace veneer::io {
namespace {

std::string refusal(const std::vector<TensorPlan>& tensors, const GgufMetadata& metadata = {}) {
  const auto layout = gguf_layout(tensors, metadata);
  return layout ? "accepted" : layout.error().message;
}

// Writes the plan, every tensor's bytes being its own number.
std::filesystem::path write(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                            const GgufMetadata& metadata) {
  auto layout = gguf_layout(tensors, metadata);
  EXPECT_TRUE(layout) << layout.error().message;
  auto writer = TensorFileWriter::create(path, *std::move(layout));
  EXPECT_TRUE(writer) << writer.error().message;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<std::byte> bytes((*writer)->layout().places[i].bytes, static_cast<std::byte>(i + 1));
    EXPECT_TRUE((*writer)->write(i, 0, bytes));
  }
  EXPECT_TRUE((*writer)->commit());
  return path;
}

// Every byte of a whole image model, padding and all.
TEST(GgufWrite, RewritesAFileOfTheReferenceToTheByte) {
  const auto file = MappedFile::open(data_path("quant/gguf/unet_sdcpp.gguf"));
  ASSERT_TRUE(file) << file.error().message;
  const auto header = parse_gguf((*file)->bytes(), "reference");
  ASSERT_TRUE(header) << header.error().message;
  std::vector<TensorPlan> plans;
  for (const GgufTensor& tensor : header->tensors)
    plans.push_back({tensor.name, std::string(tensor.type->name), tensor.shape});
  auto layout = gguf_layout(plans, {{"general.architecture", header->metadata.at("general.architecture")}});
  ASSERT_TRUE(layout) << layout.error().message;
  const ScratchFolder scratch;
  auto writer = TensorFileWriter::create(scratch / "again.gguf", *std::move(layout));
  ASSERT_TRUE(writer) << writer.error().message;
  const auto data = (*file)->bytes().subspan(header->data_begin);
  for (size_t i = plans.size(); i-- > 0;) {
    const GgufTensor& tensor = header->tensors[i];
    ASSERT_TRUE((*writer)->write(i, 0, data.subspan(tensor.offset, tensor.bytes)));
  }
  ASSERT_TRUE((*writer)->commit());
  const auto again = MappedFile::open(scratch / "again.gguf");
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::ranges::equal((*again)->bytes(), (*file)->bytes()));
}

TEST(GgufWrite, ReaderFindsWhatWasWritten) {
  const ScratchFolder scratch;
  const GgufMetadata metadata = {{"general.architecture", "sd1"},
                                 {"k.bool", true},
                                 {"k.u32", uint32_t{4000000000}},
                                 {"k.i32", int32_t{-5}},
                                 {"k.f32", 0.5f},
                                 {"k.list", std::vector<int32_t>{1, -2, 3}},
                                 gguf_true_shape("conv.weight", {8, 32, 1, 1})};
  const std::vector<TensorPlan> tensors = {{"b.weight", "Q8_0", {2, 64}},
                                           {"a.weight", "F32", {3, 5}},
                                           {"scalar", "F16", {}},
                                           {"conv.weight", "Q4_K", {1, 256}},
                                           {"four", "BF16", {2, 3, 4, 5}}};
  const auto store = open_weights(write(scratch / "x.gguf", tensors, metadata));
  ASSERT_TRUE(store) << store.error().message;
  const WeightStore::Metadata expected = {
      {"general.architecture", "sd1"}, {"k.bool", "true"}, {"k.u32", "4000000000"}, {"k.i32", "-5"}, {"k.f32", "0.5"}};
  EXPECT_EQ(store->metadata(), expected);
  EXPECT_EQ(store->entries().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Entry* entry = store->find(tensors[i].name);
    ASSERT_NE(entry, nullptr) << tensors[i].name;
    EXPECT_EQ(entry->type_name, tensors[i].type);
    EXPECT_EQ(entry->weight.shape, i == 3 ? (Shape{8, 32, 1, 1}) : tensors[i].shape);
    EXPECT_TRUE(std::ranges::all_of(entry->weight.bytes, [&](std::byte b) { return b == std::byte(i + 1); }));
    EXPECT_EQ((reinterpret_cast<uintptr_t>(entry->weight.bytes.data()) & 31u), 0u) << "unaligned";
  }
}

// Every type of the format that is not gone, one block of each.
TEST(GgufWrite, HoldsEveryTypeOfTheFormat) {
  std::vector<TensorPlan> tensors;
  for (const GgufType& type : gguf_types()) {
    EXPECT_EQ(gguf_can_hold(type.name), type.block_values > 0) << type.name;
    if (type.block_values > 0) tensors.push_back({std::string(type.name), std::string(type.name), {type.block_values}});
  }
  const ScratchFolder scratch;
  const auto file = MappedFile::open(write(scratch / "x.gguf", tensors, {}));
  ASSERT_TRUE(file);
  const auto header = parse_gguf((*file)->bytes(), "x.gguf");
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(header->tensors[i].type->name, tensors[i].type);
  for (const char* name : {"F8_E4M3", "F8_E5M2", "Q4_2", "U8", "q8_0", ""}) EXPECT_FALSE(gguf_can_hold(name)) << name;
}

TEST(GgufWrite, RefusesWhatTheFormatDoesNotHold) {
  EXPECT_EQ(refusal({}), "accepted");
  const auto layout = gguf_layout(std::vector<TensorPlan>{{"x.weight", "F8_E4M3", {2, 32}}}, {});
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(layout.error().where, "x.weight");
  EXPECT_EQ(layout.error().message, "x.weight: GGUF has no type F8_E4M3; write another type or format");
  EXPECT_TRUE(contains(refusal({{"x", "Q8_0", {2, 40}}}), "x: rows of 40 values are no whole number of Q8_0 blocks"));
  EXPECT_TRUE(contains(refusal({{"x", "Q8_0", {}}}), "x: rows of 1 values"));
  EXPECT_TRUE(contains(refusal({{"x", "F16", {1, 1, 1, 1, 2}}}), "x: GGUF holds at most 4 dimensions"));
  EXPECT_TRUE(contains(refusal({{"x", "F16", {0, 4}}}), "x: GGUF holds no empty tensors, found [0, 4]"));
  EXPECT_TRUE(contains(refusal({{"x", "F16", {4}}, {"x", "F32", {4}}}), "x: would occur twice"));
  EXPECT_TRUE(contains(refusal({{"\xFF", "F16", {4}}}), "is not UTF-8"));
  EXPECT_EQ(refusal({{std::string(1024, 'n'), "F16", {4}}}), "accepted");
  EXPECT_TRUE(contains(refusal({{std::string(1025, 'n'), "F16", {4}}}), "has 1025 bytes, GGUF takes at most 1024"));
  EXPECT_TRUE(contains(refusal({}, {{"k", true}, {"k", "2"}}), "k: would occur twice"));
  EXPECT_TRUE(contains(refusal({}, {{"\xC3", true}}), "is not UTF-8"));
  EXPECT_EQ(refusal({{"k", "F16", {4}}}, {{"k", true}}), "accepted") << "keys and names are apart";
}

}  // namespace
}  // namespace veneer::io
