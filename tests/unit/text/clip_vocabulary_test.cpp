// Reading of tokenizer folders and merge lists: what is derived, and what damaged or hostile files lead to.
#include "text/clip_vocabulary.h"

#include <gtest/gtest.h>

#include "core/format.h"
#include "core/json.h"
#include "text_fixture.h"

namespace veneer::text {
namespace {

std::string tiny_file(const char* name) { return *read_text_file(kTinyTokenizer / name); }

// A copy of the small tokenizer, one file of which is replaced or left out.
class BrokenFolder {
 public:
  BrokenFolder() {
    for (const char* name : {"vocab.json", "merges.txt", "special_tokens_map.json", "tokenizer_config.json"})
      folder_.write(name, tiny_file(name));
  }
  void write(const char* name, std::string_view text) { folder_.write(name, text); }
  void remove(const char* name) { std::filesystem::remove(folder_.path() / name); }
  Result<ClipVocabulary> read() const { return read_clip_folder(folder_.path()); }
  // The error's message behind the folder's path.
  std::string problem() const {
    const auto result = read();
    if (result) return "none";
    EXPECT_EQ(result.error().code, ErrorCode::kBadFile);
    const std::string prefix = folder_.path().string() + "/";
    std::string message = result.error().message;
    for (size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }

 private:
  TestFolder folder_;
};

TEST(ClipFolder, ReadsTheSmallTokenizer) {
  const auto vocabulary = read_clip_folder(kTinyTokenizer);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->size, 578);
  EXPECT_EQ(vocabulary->start_id, 576);
  EXPECT_EQ(vocabulary->end_id, 577);
  EXPECT_EQ(vocabulary->pad_id, 577);
  EXPECT_EQ(vocabulary->merges.size(), 64u);
  EXPECT_EQ(vocabulary->byte_ids['!'], 0);
  EXPECT_EQ(vocabulary->byte_ids['~'], 93);
  EXPECT_EQ(vocabulary->byte_ids[0xA1], 94);
  EXPECT_EQ(vocabulary->byte_ids[0xFF], 187);
  EXPECT_EQ(vocabulary->byte_ids[0x00], 188);
  EXPECT_EQ(vocabulary->byte_ids[0xAD], 255);
  EXPECT_EQ(vocabulary->last_byte_ids['!'], 256);
  EXPECT_EQ(vocabulary->last_byte_ids[0xAD], 511);
  const Merge he = vocabulary->merges.at(pair_key(vocabulary->byte_ids['h'], vocabulary->last_byte_ids['e']));
  EXPECT_EQ(he.rank, 0);
  EXPECT_GE(he.id, 512);
}

TEST(ClipFolder, FindsThePadToken) {
  BrokenFolder folder;
  folder.write("special_tokens_map.json", R"({"pad_token": "!"})");
  EXPECT_EQ(folder.read()->pad_id, 0);
  folder.write("special_tokens_map.json", R"({"pad_token": {"content": "\"", "lstrip": false}})");
  EXPECT_EQ(folder.read()->pad_id, 1);
  folder.remove("special_tokens_map.json");
  folder.write("tokenizer_config.json", R"({"pad_token": "#"})");
  EXPECT_EQ(folder.read()->pad_id, 2);
  folder.write("special_tokens_map.json", R"({"bos_token": "!"})");  // names no pad token: the other file does
  EXPECT_EQ(folder.read()->pad_id, 2);
  folder.remove("tokenizer_config.json");
  EXPECT_EQ(folder.read()->pad_id, 577);
  folder.write("special_tokens_map.json", R"({"pad_token": "[PAD]"})");
  EXPECT_EQ(folder.problem(), "vocab.json: has no entry for the pad token \"[PAD]\"");
  folder.write("special_tokens_map.json", R"({"pad_token": 3})");
  EXPECT_EQ(folder.problem(), "special_tokens_map.json: \"pad_token\" must be a string or an object with \"content\"");
}

TEST(ClipFolder, MissingFilesAreNamed) {
  for (const char* name : {"vocab.json", "merges.txt"}) {
    BrokenFolder folder;
    folder.remove(name);
    const auto result = folder.read();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(contains(result.error().message, name)) << result.error().message;
  }
}

TEST(ClipFolder, RefusesBadMerges) {
  const struct {
    const char* merges;
    const char* problem;
  } cases[] = {
      {"#version: 0.2\nh e</w>\nof\n", "merges.txt: line 3: expected two symbols separated by one blank"},
      {"#version: 0.2\nh e</w>\n\no f</w>\n", "merges.txt: line 3: expected two symbols separated by one blank"},
      {"h  e</w>\n", "merges.txt: line 1: expected two symbols separated by one blank"},
      {"h e</w> x\n", "merges.txt: line 1: expected two symbols separated by one blank"},
      {" e</w>\n", "merges.txt: line 1: expected two symbols separated by one blank"},
      {"#version: 0.2\nt he</w>\nh e</w>\n", "merges.txt: line 2: uses \"he</w>\", which no earlier line makes"},
      {"#version: 0.2\n\xC3 e\n", "merges.txt: line 2: uses \"\xC3\", which no earlier line makes"},
      {"#version: 0.2\nh e</w>\nh e</w>\n", "merges.txt: line 3: makes \"he</w>\" a second time"},
      {"#version: 0.2\nq q\n", "merges.txt: line 2: makes \"qq\", which vocab.json does not list"},
  };
  BrokenFolder folder;
  for (const auto& c : cases) {
    folder.write("merges.txt", c.merges);
    EXPECT_EQ(folder.problem(), c.problem);
  }
  folder.write("merges.txt", std::string("#version: 0.2\nh") + '\0' + " e\n");
  EXPECT_TRUE(contains(folder.problem(), "line 2: uses"));
  folder.write("merges.txt", "#version: 0.2\r\nh e</w>\r\n\r\n");  // line ends of another system
  EXPECT_EQ(folder.read()->merges.size(), 1u);
  folder.write("merges.txt", "");
  EXPECT_EQ(folder.read()->merges.size(), 0u);
}

TEST(ClipFolder, RefusesBadVocabularies) {
  const struct {
    const char* json;
    const char* problem;
  } cases[] = {
      {"", "vocab.json: is not valid JSON at byte 1"},
      {"{\"a\": 1", "vocab.json: is not valid JSON at byte 8"},
      {"{\"\xC3\": 1}", "vocab.json: is not valid JSON at byte 4"},
      {"[1]", "vocab.json: expected an object of texts and ids"},
      {"7", "vocab.json: expected an object of texts and ids"},
      {R"({"a": 1, "a": 2})", "vocab.json: the entry \"a\" occurs twice"},
      {R"({"a": 1, "b": 1})", "vocab.json: the entry \"b\" has the id 1 of another entry"},
      {R"({"a": -1})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {R"({"a": 16777216})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {R"({"a": 99999999999999999999})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {R"({"a": 1.5})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {R"({"a": "1"})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {R"({"a": {"b": 1}})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {R"({"a": [1]})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {R"({"a": null})", "vocab.json: the entry \"a\" must be an id from 0 to 16777215"},
      {"{}", "vocab.json: has no entry for the pad token \"<|endoftext|>\""},
      {R"({"<|endoftext|>": 1})", "vocab.json: has no entry \"!\""},
  };
  BrokenFolder folder;
  for (const auto& c : cases) {
    folder.write("vocab.json", c.json);
    EXPECT_EQ(folder.problem(), c.problem);
  }
  folder.write("vocab.json", std::string(100000, '['));
  EXPECT_EQ(folder.problem(), "vocab.json: expected an object of texts and ids");
}

TEST(ClipFolder, NeedsTheSpecialStringsAndEveryByte) {
  BrokenFolder folder;
  for (const char* entry : {"<|startoftext|>", "a</w>", "a", "he</w>"}) {
    Json json = *parse_json(tiny_file("vocab.json"), "vocab.json");
    json.erase(entry);
    folder.write("vocab.json", json.dump());
    EXPECT_TRUE(contains(folder.problem(), concat("\"", entry, "\""))) << folder.problem();
  }
}

TEST(ClipMergeList, RefusesAListThatIsTooShort) {
  const TestFolder folder;
  const auto file = folder.write("merges.txt", tiny_file("merges.txt"));
  const auto result = read_clip_merge_list(file);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(result.error().message, file.string() + ": has 64 merges, CLIP's vocabulary needs 48894");
}

// 48894 merges made up from pairs of byte symbols, then of what those made: ids follow the order of the lines, and
// what comes behind the last merge that CLIP uses is not even read.
TEST(ClipMergeList, DerivesTheIdsFromTheOrder) {
  std::string text = "\"bpe_simple_vocab_16e6.txt#version: 0.2\n";
  int lines = 0;
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const char a : letters)
    for (const char b : letters) text += concat(a, ' ', b, '\n'), ++lines;
  for (const char a : letters)
    for (const char b : letters)
      for (const char c : letters)
        if (lines < 48894) text += concat(a, b, ' ', c, '\n'), ++lines;
  text += "this line is not valid\n";
  const TestFolder folder;
  const auto vocabulary = read_clip_merge_list(folder.write("list.txt", text));
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->size, 49408);
  EXPECT_EQ(vocabulary->start_id, 49406);
  EXPECT_EQ(vocabulary->end_id, 49407);
  EXPECT_EQ(vocabulary->pad_id, 49407);
  const Merge aa = vocabulary->merges.at(pair_key(vocabulary->byte_ids['a'], vocabulary->byte_ids['a']));
  EXPECT_EQ(aa.id, 512);
  EXPECT_EQ(vocabulary->merges.at(pair_key(aa.id, vocabulary->byte_ids['c'])).id, 512 + 52 * 52 + 2);
}

}  // namespace
}  // namespace veneer::text
