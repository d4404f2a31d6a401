// T5's ids with the tiny model's vocabulary and the real character map (nmt_nfkc) against those of the sentencepiece
// library (tests/data/tiny-t5/tokens.json).
#include <gtest/gtest.h>

#include <filesystem>

#include "core/files.h"
#include "core/json.h"
#include "text/protobuf.h"
#include "text/t5_tokenizer.h"

namespace veneer::text {
namespace {

using Ids = std::vector<int32_t>;

const std::filesystem::path kFolder = std::filesystem::path(VENEER_SOURCE_DIR) / "tests/data/tiny-t5";

Json golden() {
  const auto text = read_text_file(kFolder / "tokens.json");
  EXPECT_TRUE(text) << text.error().message;
  auto json = parse_json(*text, "tokens.json");
  EXPECT_TRUE(json) << json.error().message;
  return *std::move(json);
}

void expect_golden_ids(const T5Tokenizer& tokenizer) {
  const Json json = golden();
  ASSERT_EQ(json["strings"].size(), 67u);
  for (const Json& row : json["strings"]) {
    auto ids = tokenizer.encode(row["text"].get<std::string>());
    ASSERT_TRUE(ids) << ids.error().message;
    ids->push_back(tokenizer.end_id());
    EXPECT_EQ(*ids, row["ids"].get<Ids>()) << row["text"];
  }
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 3; ++j)
      bits = bits << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0u);
    for (size_t digit = 0; digit < 4; ++digit)
      out += i + digit > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * digit) & 63u];
  }
  return out;
}

// The field `number` of a message.
std::string_view field_of(std::string_view message, uint32_t number) {
  const std::string name = "spiece.model";
  ProtobufReader reader(message, name);
  while (!reader.at_end()) {
    const auto field = reader.next();
    EXPECT_TRUE(field);
    if (field->number == number) return field->bytes;
  }
  ADD_FAILURE() << "no field " << number;
  return {};
}

TEST(T5Ids, OfTheModelFile) {
  const auto tokenizer = T5Tokenizer::load(kFolder / "tokenizer");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->end_id(), 1);
  EXPECT_EQ(tokenizer->pad_id(), 0);
  EXPECT_EQ(tokenizer->vocabulary_size(), 145);
  expect_golden_ids(*tokenizer);
}

// The same vocabulary as the tokenizers library writes it, with its additional tokens and the map inside a sequence.
TEST(T5Ids, OfATokenizerJson) {
  const auto model = read_text_file(kFolder / "tokenizer/spiece.model");
  ASSERT_TRUE(model) << model.error().message;
  Json json;
  json["added_tokens"] = Json::array();
  for (const char* text : {"<pad>", "</s>", "<unk>", "<extra_id_0>"})
    json["added_tokens"].push_back({{"content", text}, {"special", true}});
  json["normalizer"]["type"] = "Sequence";
  json["normalizer"]["normalizers"] = {
      {{"type", "Precompiled"}, {"precompiled_charsmap", base64(field_of(field_of(*model, 3), 2))}},
      {{"type", "Strip"}, {"strip_left", false}}};
  const Json pieces = golden()["pieces"];
  json["model"] = {{"type", "Unigram"}, {"unk_id", 2}, {"vocab", pieces}};
  json["model"]["vocab"].push_back({"<extra_id_0>", 0.0});
  const auto vocabulary = parse_t5_json(json.dump(), "tokenizer.json");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->size, 146);
  expect_golden_ids(T5Tokenizer(*vocabulary));
}

}  // namespace
}  // namespace veneer::text
