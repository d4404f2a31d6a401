// The safetensors reader against every rule of the format, and the writer against the reader.
#include <random>

#include "byte_builders.h"
#include "core/json.h"
#include "io/container.h"
#include "io/safetensors_header.h"
#include "test_files.h"

namespace veneer::io {
namespace {

Result<SafetensorsHeader> parse(std::string_view file) { return parse_safetensors(bytes_of(file), "x.safetensors"); }

// The sentence that a header is refused with, after the file's name; "accepted" when it is not.
std::string refusal(std::string_view file) {
  const auto header = parse(file);
  if (header) return "accepted";
  constexpr std::string_view kPlace = "x.safetensors: ";
  EXPECT_TRUE(header.error().message.starts_with(kPlace)) << header.error().message;
  EXPECT_EQ(header.error().code, ErrorCode::kBadFile);
  return header.error().message.substr(kPlace.size());
}

std::string entry(std::string_view type, std::string_view shape, std::string_view offsets,
                  std::string_view name = "a") {
  return concat("\"", name, "\":{\"dtype\":\"", type, "\",\"shape\":", shape, ",\"data_offsets\":", offsets, "}");
}

// A header of the given entries.
std::string header_of(const std::string& entries) { return concat("{", entries, "}"); }

std::string one_tensor(std::string_view type, std::string_view shape, std::string_view offsets, size_t data_bytes) {
  return raw_safetensors(header_of(entry(type, shape, offsets)), std::string(data_bytes, '\0'));
}

struct Verdict {
  const char* file;
  const char* sentence;  // null: accepted
};

// The verdicts are those of the format's reference reader; the sentences are ours.
constexpr Verdict kVerdicts[] = {
    {"ok_two", nullptr},
    {"ok_unordered", nullptr},
    {"ok_scalar", nullptr},
    {"ok_zero_size", nullptr},
    {"ok_padded_header", nullptr},
    {"ok_metadata", nullptr},
    {"ok_empty", nullptr},
    {"leading_space", nullptr},
    {"extra_field", nullptr},
    {"overlap", "tensor b: shares bytes with another tensor: begins at byte 4, expected 8"},
    {"same_range", "tensor b: shares bytes with another tensor: begins at byte 0, expected 8"},
    {"hole", "tensor b: begins at byte 12, expected 8: the bytes between belong to no tensor"},
    {"trailing_bytes", "4 bytes behind the last tensor: the data takes 8 bytes, found 12"},
    {"truncated_data", "tensor a: ends beyond the file: the data takes 16 bytes, found 10; the file is cut short"},
    {"truncated_header", "the header takes 55 bytes, found 12 behind its length; the file is cut short"},
    {"header_longer_than_file", "the header takes 1000000 bytes, found 58 behind its length"},
    {"header_len_huge", "the header's length is 9223372036854775808, expected at most 100000000"},
    {"header_over_limit", "the header's length is 100000001, expected at most 100000000"},
    {"header_len_zero", "the header's length is 0"},
    {"file_of_7_bytes", "7 bytes, a safetensors file has at least 8"},
    {"not_json", "the header is not valid JSON at byte 3"},
    {"json_array", "the header must be a JSON object, found a list"},
    {"not_utf8", "ill-formed UTF-8"},
    {"unknown_dtype", "tensor a: unknown type F42"},
    {"size_mismatch", "tensor a: F32 [3] takes 12 bytes, found 8"},
    {"begin_after_end", "tensor a: begins at byte 8, behind its end at 0"},
    {"negative_offset", "tensor a: \"data_offsets\" must hold integers from 0 up, found -4"},
    {"float_offset", "tensor a: \"data_offsets\" must hold integers from 0 up, found 4.5"},
    {"shape_overflow", "tensor a: F32 [1099511627776, 1099511627776] takes no countable number of whole bytes"},
    {"duplicate_key", "tensor a: the key occurs twice"},
    {"missing_shape", "tensor a: has no \"shape\""},
    {"metadata_not_string", "metadata k: must be a text, found 1"},
};

TEST(Safetensors, GivesTheVerdictOfEveryMalformedFile) {
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(data_path("bad/safetensors")))
    files += file.is_regular_file();
  EXPECT_EQ(files, std::size(kVerdicts)) << "a file without a verdict proves nothing";
  for (const Verdict& verdict : kVerdicts) {
    const auto path = data_path("bad/safetensors") / concat(verdict.file, ".safetensors");
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    const auto header = parse_safetensors((*file)->bytes(), path.string());
    ASSERT_EQ(header.has_value(), verdict.sentence == nullptr)
        << verdict.file << ": " << (header ? "accepted" : header.error().message);
    if (header) continue;
    EXPECT_EQ(header.error().code, ErrorCode::kBadFile) << verdict.file;
    EXPECT_TRUE(contains(header.error().message, verdict.sentence)) << verdict.file << ": " << header.error().message;
    EXPECT_TRUE(contains(header.error().message, verdict.file)) << "the file is not named: " << header.error().message;
  }
}

TEST(Safetensors, RefusesWhatIsNoHeader) {
  EXPECT_EQ(refusal(raw_safetensors("{}{}")).substr(0, 39), "the header is not valid JSON at byte 3 ");
  EXPECT_TRUE(contains(refusal(raw_safetensors(std::string_view("{}\0", 3))), "at byte 3 (a zero byte)"));
  EXPECT_TRUE(contains(refusal(raw_safetensors("\"a\"")), "must be a JSON object, found a"));
  EXPECT_TRUE(contains(refusal(raw_safetensors("{\"a\":7}")), "tensor a: its entry must be an object, found 7"));
  EXPECT_TRUE(
      contains(refusal(raw_safetensors("{\"__metadata__\":{},\"__metadata__\":{}}")), "__metadata__ occurs twice"));
  EXPECT_TRUE(contains(refusal(raw_safetensors("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}")),
                       "metadata key k occurs twice"));
  EXPECT_TRUE(contains(refusal(raw_safetensors("{\"__metadata__\":5}")), "must be an object, found 5"));
}

TEST(Safetensors, RefusesBadEntries) {
  const auto broken = [](std::string_view type, std::string_view shape, std::string_view offsets) {
    return refusal(one_tensor(type, shape, offsets, 4));
  };
  EXPECT_EQ(broken("F32", "[1]", "[0,4]"), "accepted");
  EXPECT_TRUE(contains(broken("F32", "[-1]", "[0,4]"), "\"shape\" must hold integers from 0 up, found -1"));
  EXPECT_TRUE(contains(broken("F32", "[1.0]", "[0,4]"), "\"shape\" must hold integers from 0 up, found 1.0"));
  EXPECT_TRUE(contains(broken("F32", "[[1]]", "[0,4]"), "\"shape\" must hold integers from 0 up, found a list"));
  EXPECT_TRUE(contains(broken("F32", "1", "[0,4]"), "\"shape\" must be a list, found 1"));
  EXPECT_TRUE(contains(broken("F32", "[1]", "[4]"), "\"data_offsets\" must be two numbers, found 1"));
  EXPECT_TRUE(contains(broken("F32", "[1]", "[0,4,4]"), "\"data_offsets\" must be two numbers, found more"));
  EXPECT_TRUE(contains(broken("F32", "[1]", "null"), "\"data_offsets\" must be a list, found null"));
  EXPECT_TRUE(contains(broken("F32", "[1]", "[0,18446744073709551616]"), "must hold integers from 0 up"));
  EXPECT_TRUE(contains(broken("F32", "[9223372036854775808]", "[0,4]"), "beyond counting"));
  EXPECT_TRUE(contains(broken("F32", "[4611686018427387904]", "[0,4]"), "takes no countable number"));
  EXPECT_TRUE(contains(broken("f32", "[1]", "[0,4]"), "unknown type f32"));
  EXPECT_TRUE(contains(refusal(raw_safetensors("{\"a\":{\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,4]}}", "1234")),
                       "\"dtype\" must be a text, found 5"));
  EXPECT_TRUE(
      contains(refusal(raw_safetensors("{\"a\":{\"shape\":[1],\"shape\":[1]}}")), "tensor a: has \"shape\" twice"));
  for (const char* missing : {"dtype", "shape", "data_offsets"}) {
    Json fields = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}};
    fields.erase(missing);
    const std::string said = refusal(raw_safetensors(Json{{"a", fields}}.dump(), "1234"));
    EXPECT_EQ(said, concat("tensor a: has no \"", missing, "\""));
  }
}

// A product with a zero in it must not hide an overflow: others multiply the rest of the sizes.
TEST(Safetensors, CountsZeroSizedTensorsWithoutOverflow) {
  EXPECT_EQ(refusal(one_tensor("F32", "[0,4]", "[0,0]", 0)), "accepted");
  EXPECT_TRUE(
      contains(refusal(one_tensor("F32", "[0,4611686018427387904,4]", "[0,0]", 0)), "takes no countable number"));
}

TEST(Safetensors, RefusesATensorInsideAnother) {
  const std::string header =
      header_of(concat(entry("F32", "[2]", "[0,8]", "a"), ",", entry("F32", "[0]", "[4,4]", "b")));
  EXPECT_TRUE(contains(refusal(raw_safetensors(header, std::string(8, '\0'))), "tensor b: shares bytes"));
}

TEST(Safetensors, RefusesMoreDimensionsThanAShapeHolds) {
  EXPECT_EQ(refusal(one_tensor("U8", "[1,1,1,1,1,1]", "[0,1]", 1)), "accepted");
  const auto header = parse(one_tensor("U8", "[1,1,1,1,1,1,1]", "[0,1]", 1));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(header.error().message,
            "x.safetensors: tensor a: has more than 6 dimensions, which this program does not support");
}

TEST(Safetensors, SizesPackedTypesByBits) {
  EXPECT_EQ(refusal(one_tensor("F4", "[3,2]", "[0,3]", 3)), "accepted");
  EXPECT_EQ(refusal(one_tensor("F6_E2M3", "[4]", "[0,3]", 3)), "accepted");
  EXPECT_EQ(refusal(one_tensor("F6_E3M2", "[8]", "[0,6]", 6)), "accepted");
  EXPECT_EQ(refusal(one_tensor("F8_E8M0", "[5]", "[0,5]", 5)), "accepted");
  EXPECT_EQ(refusal(one_tensor("C64", "[2]", "[0,16]", 16)), "accepted");
  EXPECT_EQ(refusal(one_tensor("BOOL", "[2]", "[0,2]", 2)), "accepted");
  EXPECT_TRUE(
      contains(refusal(one_tensor("F4", "[3]", "[0,2]", 2)), "F4 [3] takes no countable number of whole bytes"));
}

TEST(Safetensors, SkipsUnknownFieldsOfAnyDepth) {
  const std::string header =
      R"({"a":{"x":{"shape":[{"dtype":[[]]}],"x":null},"dtype":"U8","y":[1,"t",true,-2.5],"shape":[2],"data_offsets":[0,2]}})";
  const auto parsed = parse(raw_safetensors(header, "12"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->tensors.size(), 1u);
  EXPECT_EQ(parsed->tensors[0].shape, Shape({2}));
  EXPECT_EQ(parsed->tensors[0].type->name, "U8");
}

// Names come from strangers: they neither fill a message nor send control codes to a terminal.
TEST(Safetensors, NamesInMessagesArePrintable) {
  const std::string header = header_of(entry("F32", "[1]", "[0,4]", std::string(5000, 'n')));
  const std::string cut = refusal(raw_safetensors(header));
  EXPECT_LT(cut.size(), 400u);
  EXPECT_TRUE(contains(cut, "nnn..."));
  const std::string control = refusal(raw_safetensors(header_of(entry("F32", "[1]", "[0,4]", "\\u001b[2J"))));
  EXPECT_TRUE(contains(control, "tensor \\u001b[2J: ends beyond the file")) << control;
}

// Cutting a good file anywhere is an error, never a shorter model.
TEST(Safetensors, RefusesEveryPrefixOfAGoodFile) {
  const std::string good =
      raw_safetensors(header_of(concat(entry("F32", "[2]", "[0,8]", "a"), ",", entry("F16", "[3]", "[8,14]", "b"))),
                      std::string(14, 'x'));
  ASSERT_EQ(refusal(good), "accepted");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal(good.substr(0, length)), "accepted") << length;
}

TEST(Safetensors, MakesAStoreThatPointsIntoTheFile) {
  const ScratchFolder scratch;
  const auto path =
      write_f32(scratch / "two.safetensors", {{"b", {1, 2, 3, 4, 5, 6}, {2, 3}}, {"a", {7}, {}}}, {{"format", "pt"}});
  const auto store = open_weights(path);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->metadata().at("format"), "pt");
  ASSERT_EQ(store->entries().size(), 2u);
  const auto b = store->weight("b");
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->shape, Shape({2, 3}));
  EXPECT_EQ(b->decode_all(), std::vector<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(store->find("b")->type_name, "F32");
  const auto file = store->files().at(0)->bytes();
  EXPECT_GE(b->bytes.data(), file.data());
  EXPECT_LE(b->bytes.data() + b->bytes.size(), file.data() + file.size());
  EXPECT_EQ(store->find("a")->weight.shape.rank(), 0u);
}

// parse(print(x)) = x for random sets of tensors, and print does not depend on the order in which they are given.
TEST(SafetensorsWrite, ReadsBackWhatItWrote) {
  std::mt19937 random(7);
  const auto pick = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  constexpr std::string_view kTypeNames[] = {"F32", "F16", "BF16", "F64", "U8", "I64", "F8_E4M3", "BOOL"};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<std::byte>> contents;
    std::vector<TensorToWrite> tensors;
    for (int i = pick(8); i > 0; --i) {
      std::vector<int64_t> dims;
      for (int d = pick(5); d > 0; --d) dims.push_back(pick(5));
      const Shape shape{std::span<const int64_t>(dims)};
      const std::string_view type = kTypeNames[pick(std::size(kTypeNames))];
      std::vector<std::byte>& content = contents.emplace_back(*stored_bytes(*find_safetensors_type(type), shape));
      for (std::byte& byte : content) byte = static_cast<std::byte>(random());
      tensors.push_back({concat("layer.", i, pick(2) ? ".\"quoted\" \n\xC3\xBC" : ".weight"), type, shape, content});
    }
    std::map<std::string, std::string> metadata;
    for (int i = pick(3); i > 0; --i) metadata.emplace(concat("k", i), "value \"\\\x01\xE2\x82\xAC");

    const auto printed = encode_safetensors(tensors, metadata);
    ASSERT_TRUE(printed) << printed.error().message;
    const auto header = parse_safetensors(*printed, "printed");
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->metadata, metadata);
    EXPECT_EQ(header->data_begin % 8, 0u);
    ASSERT_EQ(header->tensors.size(), tensors.size());
    for (const TensorToWrite& tensor : tensors) {
      const auto found = std::find_if(header->tensors.begin(), header->tensors.end(),
                                      [&](const SafetensorsTensor& t) { return t.name == tensor.name; });
      ASSERT_NE(found, header->tensors.end()) << tensor.name;
      EXPECT_EQ(found->type->name, tensor.type);
      EXPECT_EQ(found->shape, tensor.shape);
      const auto bytes = std::span(*printed).subspan(header->data_begin + found->begin, found->end - found->begin);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
      EXPECT_EQ(found->begin % std::max<uint64_t>(1, found->type->bits / 8), 0u) << "unaligned values";
    }
    std::shuffle(tensors.begin(), tensors.end(), random);
    EXPECT_EQ(*encode_safetensors(tensors, metadata), *printed);
  }
}

TEST(SafetensorsWrite, FileAndMemoryAreTheSameBytes) {
  const ScratchFolder scratch;
  const std::vector<float> values = {1, 2, 3};
  const std::vector<TensorToWrite> tensors = {{"x", "F32", {3}, std::as_bytes(std::span(values))}};
  const auto path = scratch / "new/folder/x.safetensors";
  ASSERT_TRUE(write_safetensors(path, tensors, {}));
  const auto written = MappedFile::open(path);
  const auto encoded = encode_safetensors(tensors, {});
  ASSERT_TRUE(written && encoded);
  EXPECT_TRUE(std::equal((*written)->bytes().begin(), (*written)->bytes().end(), encoded->begin(), encoded->end()));
  const auto names = std::filesystem::directory_iterator(path.parent_path());
  EXPECT_EQ(std::distance(begin(names), end(names)), 1) << "a temporary file was left";
}

// A caller that would write a file nobody can read has a fault of its own.
TEST(SafetensorsWrite, ChecksItsCaller) {
  const std::vector<std::byte> four(4);
  EXPECT_THROW((void)encode_safetensors({{"x", "F32", {2}, four}}, {}), std::logic_error);
  EXPECT_THROW((void)encode_safetensors({{"x", "f32", {1}, four}}, {}), std::logic_error);
  EXPECT_THROW((void)encode_safetensors({{"x", "F32", {1}, four}, {"x", "F16", {2}, four}}, {}), std::logic_error);
}

TEST(SafetensorsWrite, RefusesTextThatIsNotUtf8AndPlacesItCannotWrite) {
  const ScratchFolder scratch;
  const auto bad_name = encode_safetensors({{"\xFF", "U8", {0}, {}}}, {});
  ASSERT_FALSE(bad_name);
  EXPECT_TRUE(contains(bad_name.error().message, "is not UTF-8"));
  const auto bad_metadata = encode_safetensors({}, {{"k", "\xC3"}});
  ASSERT_FALSE(bad_metadata);
  scratch.write("file", "");
  const auto bad_place = write_safetensors(scratch / "file/x.safetensors", {}, {});
  ASSERT_FALSE(bad_place);
  EXPECT_EQ(bad_place.error().code, ErrorCode::kIo);
  EXPECT_TRUE(contains(bad_place.error().message, "x.safetensors: creating failed"));
}

}  // namespace
}  // namespace veneer::io
