// Files of T5's tokenizer that are damaged, hostile or of another kind.
#include "text/t5_vocabulary.h"

#include <gtest/gtest.h>

#include "core/format.h"
#include "tests/unit/text/t5_fixture.h"
#include "tests/unit/text/text_fixture.h"

namespace veneer::text {
namespace {

const std::string kGood = control_pieces() + piece("▁", -1) + piece("a", -2);

Error error_of(const Result<T5Vocabulary>& result) {
  EXPECT_FALSE(result);
  return result ? Error() : result.error();
}
Error model_error(std::string_view bytes) { return error_of(parse_t5_model(bytes, "spiece.model")); }
Error json_error(std::string_view text) { return error_of(parse_t5_json(text, "tokenizer.json")); }

void expect(const Error& error, ErrorCode code, std::string_view words) {
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
}

// A trie with the one key "b" and what it becomes.
std::string map_of_b(std::string_view replacement, uint32_t place = 0) {
  std::vector<uint32_t> units(256, 0);
  units[0] = 1u << 10;                            // children at 1
  units[1 ^ 'b'] = (2u << 10) | (1u << 8) | 'b';  // has a value; offset 2
  units[(1 ^ 'b') ^ 2] = 0x80000000u | place;
  std::string table = little_endian(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) table += little_endian(unit);
  return table.append(replacement).append(1, '\0');
}
std::string with_map(const std::string& map) { return kGood + bytes_field(3, bytes_field(2, map)); }

TEST(T5Vocabulary, KeepsPiecesSortedAndWhatIsSpecial) {
  const auto vocabulary = parse_t5_model(kGood, "spiece.model");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  ASSERT_EQ(vocabulary->pieces.size(), 2u);
  EXPECT_EQ(vocabulary->pieces[0].text, "a");
  EXPECT_EQ(vocabulary->pieces[0].id, 4);
  EXPECT_EQ(vocabulary->pieces[0].score, -2.0f);
  EXPECT_EQ(vocabulary->size, 5);
  EXPECT_EQ(vocabulary->unknown_id, 2);
}

TEST(T5Vocabulary, EveryCutOfAModelIsRefusedOrRead) {
  const std::string whole = with_map(map_of_b("x"));
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto cut = parse_t5_model(whole.substr(0, size), "spiece.model");
    EXPECT_EQ(cut.has_value(),
              size == kGood.size() || size == kGood.size() - piece("a", -2).size() || size == control_pieces().size())
        << size;
  }
}

TEST(T5Vocabulary, RefusesDamagedModels) {
  expect(model_error(""), ErrorCode::kBadFile, "lacks one of the pieces");
  expect(model_error("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ErrorCode::kBadFile, "ends too early");
  expect(model_error(std::string(11, '\x88')), ErrorCode::kBadFile, "more than 64 bits");
  expect(model_error("\x0b"), ErrorCode::kBadFile, "unknown kind");
  expect(model_error(kGood + piece("a", -3)), ErrorCode::kBadFile, "pieces 4 and 5 have the same text");
  expect(model_error(kGood + piece("", -3)), ErrorCode::kBadFile, "piece 5 has 0 bytes");
  expect(model_error(kGood + piece(std::string(513, 'x'), -3)), ErrorCode::kBadFile, "piece 5 has 513 bytes");
  expect(model_error(kGood + piece("n", std::numeric_limits<float>::quiet_NaN())), ErrorCode::kBadFile, "not finite");
}

TEST(T5Vocabulary, RefusesOtherKindsOfModels) {
  expect(model_error(kGood + piece("u", -3, 4)), ErrorCode::kUnsupported, "piece 5 is of a kind");
  expect(model_error(kGood + piece("<0x41>", -3, 6)), ErrorCode::kUnsupported, "piece 5 is of a kind");
  expect(model_error(kGood + bytes_field(2, varint_field(3, 2))), ErrorCode::kUnsupported, "no unigram model");
  expect(model_error(kGood + bytes_field(2, varint_field(35, 1))), ErrorCode::kUnsupported, "byte fallback");
  for (const uint64_t rule : {3, 4, 5})
    expect(model_error(kGood + bytes_field(3, varint_field(rule, 0))), ErrorCode::kUnsupported, "treats blanks");
}

TEST(T5Vocabulary, TheCharacterMapReplaces) {
  const auto vocabulary = parse_t5_model(with_map(map_of_b("xyz")), "spiece.model");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  const auto found = vocabulary->characters.find("bc");
  EXPECT_EQ(found.length, 1u);
  EXPECT_EQ(found.text, "xyz");
  EXPECT_EQ(vocabulary->characters.find("cb").length, 0u);
  EXPECT_EQ(vocabulary->characters.find("").length, 0u);
}

TEST(T5Vocabulary, RefusesDamagedMapsAndNeverLeavesThem) {
  expect(model_error(with_map("\x01")), ErrorCode::kBadFile, "is cut short");
  expect(model_error(with_map(little_endian(6) + "abcdef")), ErrorCode::kBadFile, "its trie has 6 of 6 bytes");
  expect(model_error(with_map(little_endian(64) + "abcd")), ErrorCode::kBadFile, "its trie has 64 of 4 bytes");
  expect(model_error(with_map(little_endian(4) + "abcdx")), ErrorCode::kBadFile, "zero byte");
  // A root whose children would lie far beyond the end, and a value beyond the replacements.
  for (const std::string& map :
       {little_endian(4) + little_endian(0x7ffffe00u) + std::string(1, '\0'), map_of_b("x", 1000)}) {
    const auto vocabulary = parse_t5_model(with_map(map), "spiece.model");
    ASSERT_TRUE(vocabulary) << vocabulary.error().message;
    EXPECT_EQ(vocabulary->characters.find("b").length, 0u);
  }
}

TEST(T5Vocabulary, RefusesOtherJson) {
  expect(json_error("[]"), ErrorCode::kBadFile, "model.vocab");
  expect(json_error("{"), ErrorCode::kBadFile, "tokenizer.json");
  expect(json_error(R"({"model": {"vocab": {"a": 1}}})"), ErrorCode::kBadFile, "model.vocab");
  expect(json_error(R"({"model": {"vocab": [["a"]]}})"), ErrorCode::kBadFile, "model.vocab[0]");
  expect(json_error(R"({"model": {"vocab": [["a", -1]], "unk_id": "x"}})"), ErrorCode::kBadFile, "unk_id");
  const std::string vocab = R"("model": {"unk_id": 2, "vocab": [["<pad>", 0], ["</s>", 0], ["<unk>", 0]]})";
  const std::string special = R"("added_tokens": [{"content": "<pad>"}, {"content": "</s>"}])";
  EXPECT_TRUE(parse_t5_json(concat("{", special, ", ", vocab, "}"), "tokenizer.json"));
  expect(json_error(concat("{", vocab, "}")), ErrorCode::kBadFile, "lacks one of the pieces");
  expect(json_error(concat("{", special, ", ", vocab, R"(, "normalizer": {"precompiled_charsmap": "$$$"}})")),
         ErrorCode::kBadFile, "base64");
}

TEST(T5Vocabulary, AFolderHoldsEitherFile) {
  const TestFolder folder;
  EXPECT_EQ(error_of(read_t5_vocabulary(folder.path())).code, ErrorCode::kNotFound);
  folder.write("tokenizer.json", "{}");
  EXPECT_EQ(error_of(read_t5_vocabulary(folder.path())).code, ErrorCode::kBadFile);
  const auto model = folder.write("spiece.model", kGood);
  EXPECT_TRUE(read_t5_vocabulary(folder.path()));
  EXPECT_TRUE(read_t5_vocabulary(model));
}

}  // namespace
}  // namespace veneer::text
