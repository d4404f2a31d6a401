// The GGUF reader against every rule of the format, and on image models in both of their namings.
#include <algorithm>

#include "byte_builders.h"
#include "io/container.h"
#include "io/gguf_header.h"
#include "io/model_files.h"
#include "test_files.h"

namespace veneer::io {
namespace {

constexpr uint32_t kU32 = 4, kI32 = 5, kString = 8, kArray = 9, kQ8 = 8;

Result<GgufHeader> parse(std::string_view file) { return parse_gguf(bytes_of(file), "x.gguf"); }

// The sentence that a file is refused with, after its name; "accepted" when it is not.
std::string refusal(std::string_view file) {
  const auto header = parse(file);
  if (header) return "accepted";
  constexpr std::string_view kPlace = "x.gguf: ";
  EXPECT_TRUE(header.error().message.starts_with(kPlace)) << header.error().message;
  return header.error().message.substr(kPlace.size());
}

std::string pair(std::string_view key, uint32_t kind, const std::string& value) {
  return gguf_text(key) + little(kind) + value;
}
std::string true_shape(std::string_view tensor, const std::vector<int32_t>& sizes, uint32_t kind = kI32) {
  std::string items;
  for (const int32_t size : sizes) items += little(size);
  return pair(concat("comfy.gguf.orig_shape.", tensor), kArray, little(kind) + little(uint64_t{sizes.size()}) + items);
}

struct Verdict {
  const char* file;
  ErrorCode code = ErrorCode::kBadFile;
  const char* sentence = nullptr;  // null: accepted
};

constexpr ErrorCode kBad = ErrorCode::kBadFile, kUnsupported = ErrorCode::kUnsupported;

// Where the two reference readers disagree, the verdict is ours: holes and longer names are accepted, overlaps, five
// dimensions, tensors beyond the file and uncountable sizes are not.
constexpr Verdict kVerdicts[] = {
    {"ok"},
    {"ok_no_tensors"},
    {"zero_dims"},
    {"offset_gap"},
    {"name_too_long"},
    {"bad_magic", kBad, "begins with \"GGML\", expected \"GGUF\""},
    {"version_0", kUnsupported, "GGUF version 0, expected 2 or 3"},
    {"version_1", kUnsupported, "GGUF version 1, expected 2 or 3"},
    {"version_99", kUnsupported, "GGUF version 99, expected 2 or 3"},
    {"big_endian", kUnsupported, "is a big-endian GGUF file"},
    {"tensor_count_huge", kBad, "promises 4611686018427387904 tensors, which 8 bytes cannot hold"},
    {"kv_count_huge", kBad, "promises 4611686018427387904 pairs of metadata, which 8 bytes cannot hold"},
    {"string_length_huge", kBad, "ends too early: expected 4611686018427387904 bytes at byte 32, found 32"},
    {"array_length_huge", kBad, "promises 4611686018427387904 items of k, which 15 bytes cannot hold"},
    {"nested_array", kBad, "the value of k is an array of arrays"},
    {"kv_type_unknown", kBad, "the value of k is of the unknown kind 77"},
    {"duplicate_kv", kBad, "the key k occurs twice"},
    {"alignment_zero", kBad, "general.alignment is 0, expected a power of two"},
    {"alignment_48", kBad, "general.alignment is 48, expected a power of two"},
    {"alignment_wrong_type", kBad, "general.alignment is of kind 10, expected 4 (u32)"},
    {"five_dims", kBad, "tensor a: has 5 dimensions, expected at most 4"},
    {"dim_negative", kBad, "tensor a: has the size -4, expected 1 or more"},
    {"dims_overflow", kBad, "tensor a: the product of its sizes is beyond counting"},
    {"type_unknown", kBad, "tensor a: unknown type 99"},
    {"type_removed", kUnsupported, "tensor a: the type Q4_2 was removed from the format"},
    {"row_not_multiple_of_block", kBad, "tensor a: rows of 33 values are no whole number of Q8_0 blocks of 32"},
    {"offset_unaligned", kBad, "tensor a: begins at byte 4 of the data, expected a multiple of 32"},
    {"offset_overlap", kBad, "tensor b: shares bytes with another tensor: begins at byte 32, expected 64 or more"},
    {"duplicate_tensor", kBad, "tensor a: the name occurs twice"},
    {"data_truncated", kBad, "tensor a: takes 1600 bytes from byte 0 of the data, found 32; the file is cut short"},
    {"header_truncated", kBad, "promises 1 tensors, which 16 bytes cannot hold"},
};

TEST(Gguf, GivesTheVerdictOfEveryMalformedFile) {
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(data_path("bad/gguf"))) files += file.is_regular_file();
  EXPECT_EQ(files, std::size(kVerdicts)) << "a file without a verdict proves nothing";
  for (const Verdict& verdict : kVerdicts) {
    const auto path = data_path("bad/gguf") / concat(verdict.file, ".gguf");
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    const auto header = parse_gguf((*file)->bytes(), path.string());
    ASSERT_EQ(header.has_value(), verdict.sentence == nullptr)
        << verdict.file << ": " << (header ? "accepted" : header.error().message);
    if (header) continue;
    EXPECT_EQ(header.error().code, verdict.code) << verdict.file;
    EXPECT_TRUE(contains(header.error().message, verdict.sentence)) << verdict.file << ": " << header.error().message;
    EXPECT_TRUE(contains(header.error().message, verdict.file)) << "the file is not named: " << header.error().message;
  }
}

// The fixtures' places of the data are those of the format's own reader.
TEST(Gguf, ReadsBothVersionsAndOtherAlignments) {
  struct Case {
    const char* file;
    uint64_t data_begin, second_offset;
  };
  for (const Case& c : {Case{"small_v2", 352, 64}, Case{"small_align64", 384, 64}}) {
    const auto file = MappedFile::open(data_path("quant/gguf") / concat(c.file, ".gguf"));
    ASSERT_TRUE(file);
    const auto header = parse_gguf((*file)->bytes(), c.file);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->data_begin, c.data_begin);
    ASSERT_EQ(header->tensors.size(), 2u);
    const GgufTensor &a = header->tensors[0], &b = header->tensors[1];
    EXPECT_EQ(a.name, "a.weight");
    EXPECT_EQ(a.shape, Shape({3, 5}));
    EXPECT_EQ(a.type->name, "F32");
    EXPECT_EQ(a.bytes, 60u);
    EXPECT_EQ(b.name, "b.weight");
    EXPECT_EQ(b.shape, Shape({2, 32}));
    EXPECT_EQ(b.type->name, "Q8_0");
    EXPECT_EQ(b.offset, c.second_offset);
    EXPECT_EQ(b.bytes, 68u);
    EXPECT_EQ(header->metadata.at("general.architecture"), "sd1");
    EXPECT_EQ(header->metadata.at("k.bool"), "true");
    EXPECT_EQ(header->metadata.at("k.f64"), "0.5");
    EXPECT_FALSE(header->metadata.contains("k.arr_str")) << "arrays are no metadata";
  }
}

TEST(Gguf, KeepsScalarsAsText) {
  const std::pair<std::string, const char*> cases[] = {
      {little(uint32_t{0}) + little(uint8_t{200}), "200"},
      {little(uint32_t{1}) + little(int8_t{-3}), "-3"},
      {little(uint32_t{2}) + little(uint16_t{65535}), "65535"},
      {little(uint32_t{3}) + little(int16_t{-9}), "-9"},
      {little(uint32_t{4}) + little(uint32_t{4000000000}), "4000000000"},
      {little(uint32_t{5}) + little(int32_t{-7}), "-7"},
      {little(uint32_t{6}) + little(0.1f), "0.1"},
      {little(uint32_t{7}) + little(uint8_t{0}), "false"},
      {little(uint32_t{8}) + gguf_text("caf\xC3\xA9"), "caf\xC3\xA9"},
      {little(uint32_t{8}) + gguf_text("caf\xE9"), "caf\xC3\xA9"},  // Latin-1 by mistake
      {little(uint32_t{10}) + little(uint64_t{1} << 63), "9223372036854775808"},
      {little(uint32_t{11}) + little(int64_t{-1}), "-1"},
      {little(uint32_t{12}) + little(-2.5), "-2.5"},
  };
  for (const auto& [value, text] : cases) {
    const auto header = parse(gguf_file({gguf_text("k") + value}, {}, ""));
    ASSERT_TRUE(header) << text << ": " << header.error().message;
    EXPECT_EQ(header->metadata.at("k"), text);
  }
}

TEST(Gguf, TakesTheTrueShapeFromTheMetadata) {
  const std::vector<GgufRecord> records = {{"conv", {256, 2}, 1, 0}};
  const std::string data(1024, '\0');
  const auto header = parse(gguf_file({true_shape("conv", {2, 64, 2, 2})}, records, data));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->tensors[0].shape, Shape({2, 64, 2, 2}));
  EXPECT_EQ(refusal(gguf_file({true_shape("other", {3})}, records, data)), "accepted");
  EXPECT_EQ(refusal(gguf_file({true_shape("conv", {2, 64, 2})}, records, data)),
            "tensor conv: its true shape [2, 64, 2] does not hold the 512 values of its record");
  EXPECT_TRUE(contains(refusal(gguf_file({true_shape("conv", {-2, -256})}, records, data)), "holds the size -2"));
  EXPECT_TRUE(contains(refusal(gguf_file({true_shape("conv", {512}, kU32)}, records, data)), "of kind i32"));
  EXPECT_TRUE(contains(refusal(gguf_file({true_shape("conv", {1, 1, 1, 1, 1, 1, 512})}, records, data)), "at most 6"));
  EXPECT_TRUE(contains(refusal(gguf_file({true_shape("conv", {2147483647, 2147483647, 2147483647})}, records, data)),
                       "does not hold the 512 values"));
}

TEST(Gguf, CountsWithoutOverflow) {
  const auto one = [](std::vector<uint64_t> sizes, uint32_t type, uint64_t offset = 0) {
    return refusal(gguf_file({}, {{"a", std::move(sizes), type, offset}}, std::string(64, '\0')));
  };
  EXPECT_EQ(one({16}, 0), "accepted");
  EXPECT_EQ(one({0}, 0), "tensor a: has the size 0, expected 1 or more");
  EXPECT_EQ(one({uint64_t{1} << 61}, 0), "tensor a: F32 [2305843009213693952] is beyond counting");
  EXPECT_TRUE(contains(one({uint64_t{1} << 60}, 0), "takes 4611686018427387904 bytes"));
  EXPECT_TRUE(contains(one({16}, 0, uint64_t{0} - 32), "from byte 18446744073709551584 of the data"));
  EXPECT_TRUE(contains(one({}, kQ8), "rows of 1 values are no whole number of Q8_0 blocks"));
  EXPECT_TRUE(contains(one({32, 2}, kQ8), "takes 68 bytes from byte 0 of the data, found 64"));
}

TEST(Gguf, BoundsNamesAndText) {
  const std::string data(32, '\0');
  EXPECT_EQ(refusal(gguf_file({}, {{std::string(1024, 'n'), {4}}}, data)), "accepted");
  EXPECT_TRUE(contains(refusal(gguf_file({}, {{std::string(1025, 'n'), {4}}}, data)),
                       "the name has 1025 bytes, expected at most 1024"));
  EXPECT_TRUE(contains(refusal(gguf_file({}, {{"\xFF", {4}}}, data)), "is not UTF-8"));
  const std::string strings = little(kString) + little(uint64_t{3});
  const std::string three = gguf_text("a") + gguf_text("") + gguf_text("\xFF");
  EXPECT_EQ(refusal(gguf_file({pair("k", kArray, strings + three)}, {}, "")), "accepted");
  EXPECT_TRUE(contains(refusal(gguf_file({pair("k", kArray, strings + gguf_text("a") + little(~uint64_t{0}))}, {},
                                         std::string(64, '\0'))),
                       "ends too early: expected 18446744073709551615 bytes"));
  EXPECT_TRUE(contains(refusal(gguf_file({pair("k", kArray, little(uint32_t{13}) + little(uint64_t{0}))}, {}, "")),
                       "the items of k are of the unknown kind 13"));
}

// Cutting a good file anywhere is an error, never a shorter model.
TEST(Gguf, RefusesEveryPrefixOfAGoodFile) {
  const std::string good =
      gguf_file({pair("general.architecture", kString, gguf_text("sd1")), true_shape("b", {2, 32})},
                {{"a", {5, 3}, 0, 0}, {"b", {64}, kQ8, 64}}, std::string(64 + 68, 'x'));
  ASSERT_EQ(refusal(good), "accepted");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal(good.substr(0, length)), "accepted") << length;
}

// A number format's blocks are those that the container counts with.
TEST(Gguf, TypesAgreeWithTheirNumberFormats) {
  for (const GgufType& type : gguf_types()) {
    if (type.codec.empty()) continue;
    const codec::Codec* codec = codec::find_codec(type.codec);
    ASSERT_NE(codec, nullptr) << type.name;
    EXPECT_EQ(codec->block_values, type.block_values) << type.name;
    EXPECT_EQ(codec->block_bytes, type.block_bytes) << type.name;
    EXPECT_EQ(lower_ascii(codec->name), lower_ascii(type.name));
  }
}

TEST(Gguf, RefusesATypeThatIsNoWeightByName) {
  const ScratchFolder scratch;
  const auto path = scratch.write("m.bin", gguf_file({}, {{"a", {256}, 17, 0}}, std::string(74, '\0')));
  const auto store = open_weights(path);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->find("a")->weight.codec, nullptr);
  const auto weight = store->weight("a");
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(contains(weight.error().message, "m.bin: tensor a: the type IQ2_XS")) << weight.error().message;
}

TEST(Gguf, AFileWithoutTensorsIsNoImageModel) {
  const ScratchFolder scratch;
  const auto path =
      scratch.write("vocabulary.gguf", gguf_file({pair("general.architecture", kString, gguf_text("bert"))}, {}, ""));
  const auto store = open_weights(path);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kMismatch);
  EXPECT_TRUE(contains(store.error().message,
                       "vocabulary.gguf: a file with no tensors is not an image model "
                       "(architecture bert)"))
      << store.error().message;
}

TEST(Gguf, MakesAStoreThatPointsIntoTheFile) {
  const auto store = open_weights(data_path("quant/gguf/small_v2.gguf"));
  ASSERT_TRUE(store) << store.error().message;
  const auto a = store->weight("a.weight");
  ASSERT_TRUE(a) << a.error().message;
  std::vector<float> counted(15);
  for (size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i);
  EXPECT_EQ(a->decode_all(), counted);
  EXPECT_EQ(store->find("b.weight")->type_name, "Q8_0");
  const auto file = store->files().at(0)->bytes();
  EXPECT_EQ(a->bytes.data(), file.data() + 352);
  EXPECT_EQ(store->metadata().at("general.architecture"), "sd1");
}

// Node-graph tools write bare names, stable-diffusion.cpp the names of a full checkpoint: both are the same part, with
// the same numbers as the files' maker decoded. Sums of powers of two and small integers are exact in float32, so the
// comparison is too.
class GgufModel : public testing::TestWithParam<const char*> {};

TEST_P(GgufModel, IsADenoiserWithTheGoldenTensors) {
  ModelPaths paths;
  paths.model = data_path(concat("quant/gguf/unet_", GetParam(), ".gguf"));
  const auto files = open_model_files(paths);
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->parts.size(), 1u);
  EXPECT_TRUE(files->unused_tensors.empty());
  const ModelPart* denoiser = files->find(Part::kDenoiser);
  ASSERT_NE(denoiser, nullptr);
  EXPECT_EQ(denoiser->weights.entries().size(), 208u);
  const auto golden = open_weights(data_path("quant/gguf/io.safetensors"));
  ASSERT_TRUE(golden);
  for (const char* name : {"mid_block.attentions.0.transformer_blocks.0.ff.net.2.weight",
                           "down_blocks.0.resnets.0.conv1.weight", "conv_in.weight"}) {
    const auto expected = golden->weight(concat(GetParam(), ".", name));
    const auto found = denoiser->weights.weight(name);
    ASSERT_TRUE(expected && found) << name << (found ? "" : found.error().message);
    EXPECT_EQ(found->shape, expected->shape) << name;
    EXPECT_EQ(found->decode_all(), expected->decode_all()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Namings, GgufModel, testing::Values("comfy", "sdcpp"),
                         [](const auto& naming) { return std::string(naming.param); });

}  // namespace
}  // namespace veneer::io
