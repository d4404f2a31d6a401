// CLIP's ids with the real vocabulary against those of the tokenizers library (versions inside the data file).
// The vocabulary is not part of the repository; the set-up puts it into the build's data folder, and without it these
// tests fail.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/files.h"
#include "core/json.h"
#include "text/chunks.h"
#include "text/clip_tokenizer.h"

namespace veneer::text {
namespace {

using Ids = std::vector<int32_t>;

class ClipIds : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path source = VENEER_SOURCE_DIR, data = VENEER_DATA_DIR;
    const auto text = read_text_file(source / "tests/data/tokenizer/clip.json");
    ASSERT_TRUE(text) << text.error().message;
    const auto json = parse_json(*text, "clip.json");
    ASSERT_TRUE(json) << json.error().message;
    golden_ = *json;
    auto tokenizer = ClipTokenizer::load_merge_list(data / "bpe_simple_vocab_16e6.txt.gz");
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_.emplace(*std::move(tokenizer));
  }

  // The only chunk of a text without weights.
  Ids framed(const std::string& text, int32_t pad_id) const {
    const auto chunked = chunk_prompt({{{text, 1.0}}}, *tokenizer_, {.pad_id = pad_id, .extra_words = {}});
    EXPECT_TRUE(chunked) << chunked.error().message;
    return {chunked->chunks[0].ids.begin(), chunked->chunks[0].ids.end()};
  }

  Json golden_;
  std::optional<ClipTokenizer> tokenizer_;
};

TEST_F(ClipIds, SizesAndSpecialIds) {
  EXPECT_EQ(tokenizer_->vocabulary_size(), 49408);
  EXPECT_EQ(tokenizer_->start_id(), 49406);
  EXPECT_EQ(tokenizer_->end_id(), 49407);
}

TEST_F(ClipIds, AgreeOnEveryString) {
  ASSERT_EQ(golden_["rows"].size(), 188u);
  for (const Json& row : golden_["rows"]) {
    const auto text = row["text"].get<std::string>();
    const auto ids = tokenizer_->encode(text);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, row["ids"].get<Ids>()) << row["text"];
  }
}

TEST_F(ClipIds, FrameAndCut) {
  EXPECT_EQ(framed("a photo of a cat", 49407), golden_["framed"]["short"].get<Ids>());
  std::string long_text;
  for (int i = 0; i < 80; ++i) long_text += "word ";
  EXPECT_EQ(framed(long_text, 49407), golden_["framed"]["long"].get<Ids>());
  const Ids zero_padded = framed("a photo of a cat", 0);  // OpenCLIP
  EXPECT_EQ(zero_padded[6], 49407);
  EXPECT_EQ(zero_padded[7], 0);
  EXPECT_EQ(zero_padded[76], 0);
}

}  // namespace
}  // namespace veneer::text
