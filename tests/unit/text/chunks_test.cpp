// Cutting into chunks. In the small vocabulary "cat" (550), "dog" and "," (267) and "." (269) are one token each.
#include "text/chunks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/format.h"
#include "text_fixture.h"

namespace veneer::text {
namespace {

constexpr int32_t kStart = 576, kEnd = 577, kCat = 550, kComma = 267, kPeriod = 269;

std::string words(std::string_view word, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text.append(word).append(" ");
  return text;
}

ChunkedPrompt chunk(std::string_view text, const ChunkOptions& options = {.pad_id = kEnd, .extra_words = {}}) {
  const auto prompt = parse_prompt(text);
  EXPECT_TRUE(prompt) << prompt.error().message;
  const auto chunked = chunk_prompt(*prompt, tiny_tokenizer(), options);
  EXPECT_TRUE(chunked) << chunked.error().message;
  return chunked ? *chunked : ChunkedPrompt();
}

// The tokens of a chunk between its start and its first end token.
std::vector<int32_t> tokens_of(const Chunk& chunk) {
  EXPECT_EQ(chunk.ids.front(), kStart);
  const auto end = std::find(chunk.ids.begin(), chunk.ids.end(), kEnd);
  return {chunk.ids.begin() + 1, end};
}

TEST(Chunks, FrameAndPad) {
  for (const int32_t pad : {kEnd, 0}) {
    const auto chunked = chunk("cat (cat:1.5)", {.pad_id = pad, .extra_words = {}});
    ASSERT_EQ(chunked.chunks.size(), 1u);
    EXPECT_EQ(chunked.tokens, 2u);
    Chunk expected;
    expected.ids.fill(pad);
    expected.weights.fill(1.0f);
    expected.ids[0] = kStart;
    expected.ids[1] = expected.ids[2] = kCat;
    expected.ids[3] = kEnd;
    expected.weights[2] = 1.5f;
    EXPECT_EQ(chunked.chunks[0], expected) << pad;
  }
}

TEST(Chunks, AnEmptyPromptIsOneChunk) {
  for (const char* text : {"", "  ", "()"}) {
    const auto chunked = chunk(text, {.pad_id = 0, .extra_words = {}});
    ASSERT_EQ(chunked.chunks.size(), 1u);
    EXPECT_EQ(chunked.tokens, 0u);
    EXPECT_EQ(chunked.chunks[0].ids[1], kEnd);
    EXPECT_EQ(chunked.chunks[0].ids[2], 0);
  }
}

TEST(Chunks, CutAfter75Tokens) {
  const std::pair<int, size_t> cases[] = {{1, 1}, {74, 1}, {75, 1}, {76, 2}, {150, 2}, {151, 3}};
  for (const auto& [count, chunks] : cases) {
    const auto chunked = chunk(words("cat", count));
    EXPECT_EQ(chunked.chunks.size(), chunks) << count;
    EXPECT_EQ(chunked.tokens, static_cast<size_t>(count));
    size_t seen = 0;
    for (const Chunk& c : chunked.chunks) {
      seen += tokens_of(c).size();
      EXPECT_EQ(c.ids.back(), kEnd);
    }
    EXPECT_EQ(seen, static_cast<size_t>(count));
  }
}

TEST(Chunks, EveryTokenOfAPieceHasItsWeight) {
  const auto chunked = chunk(words("cat", 70) + "(" + words("zzz", 4) + ":0.5) cat");  // zzz: three tokens
  ASSERT_EQ(chunked.chunks.size(), 2u);
  EXPECT_EQ(chunked.tokens, 83u);
  std::vector<float> weights;
  for (const Chunk& c : chunked.chunks) {
    EXPECT_EQ(c.weights.front(), 1.0f);
    EXPECT_EQ(c.weights.back(), 1.0f);
    weights.insert(weights.end(), c.weights.begin() + 1, c.weights.end() - 1);
  }
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(weights[i], i >= 70 && i < 82 ? 0.5f : 1.0f) << i;
}

TEST(Chunks, BreakFillsTheChunk) {
  const auto chunked = chunk("cat BREAK cat cat BREAK cat");
  ASSERT_EQ(chunked.chunks.size(), 3u);
  EXPECT_EQ(chunked.tokens, 4u);
  EXPECT_EQ(tokens_of(chunked.chunks[0]).size(), 1u);
  EXPECT_EQ(tokens_of(chunked.chunks[1]).size(), 2u);
  EXPECT_EQ(chunk("BREAK cat").chunks.size(), 2u);
  EXPECT_EQ(chunk("cat BREAK").chunks.size(), 1u);  // nothing follows, so nothing is started
  EXPECT_EQ(chunk("cat BREAK BREAK cat").chunks.size(), 3u);
  EXPECT_EQ(chunk(words("cat", 75) + "BREAK cat").chunks.size(), 2u);  // a chunk that is full already
}

// cases.md P2: whichever of the two prompts is longer.
TEST(Chunks, PromptsOfAPairGetTheSameCount) {
  const std::tuple<std::string, std::string, size_t> cases[] = {
      {words("cat", 10), words("dog", 90), 2},
      {words("cat", 200), words("dog", 3), 3},
      {"cat BREAK cat BREAK cat", "dog", 3},
      {"cat", "dog", 1},
  };
  for (const int32_t pad : {kEnd, 0})
    for (const auto& [positive, negative, count] : cases) {
      const ChunkOptions options{.pad_id = pad, .extra_words = {}};
      const auto empty = chunk("", options).chunks[0];
      auto a = chunk(positive, options), b = chunk(negative, options);
      const auto a_before = a, b_before = b;
      match_chunk_counts(a, b, tiny_tokenizer(), pad);
      ASSERT_EQ(a.chunks.size(), count);
      ASSERT_EQ(b.chunks.size(), count);
      EXPECT_EQ(a.tokens, a_before.tokens);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(a.chunks[i], i < a_before.chunks.size() ? a_before.chunks[i] : empty);
        EXPECT_EQ(b.chunks[i], i < b_before.chunks.size() ? b_before.chunks[i] : empty);
      }
      auto c = chunk(negative, options), d = chunk(positive, options);
      match_chunk_counts(c, d, tiny_tokenizer(), pad);
      EXPECT_EQ(c.chunks, b.chunks);
      EXPECT_EQ(d.chunks, a.chunks);
    }
}

TEST(Chunks, CommaBacktrackMovesTheUnfinishedPhrase) {
  const std::string text = words("cat", 70) + ", " + words("dog", 6);  // 77 tokens; the comma is the 71st
  const auto sizes = [&](std::string_view prompt, int backtrack) {
    std::vector<size_t> out;
    for (const Chunk& c : chunk(prompt, {.pad_id = kEnd, .comma_backtrack = backtrack, .extra_words = {}}).chunks)
      out.push_back(tokens_of(c).size());
    return out;
  };
  EXPECT_EQ(sizes(text, 0), (std::vector<size_t>{75, 2}));
  EXPECT_EQ(sizes(text, 4), (std::vector<size_t>{75, 2}));  // the comma lies five tokens before the cut
  EXPECT_EQ(sizes(text, 5), (std::vector<size_t>{71, 6}));
  EXPECT_EQ(sizes(text, 20), (std::vector<size_t>{71, 6}));
  const std::string all = words("cat", 75);
  EXPECT_EQ(sizes(all + ", dog", 20), (std::vector<size_t>{75, 2}));  // a comma as the first token too many
  EXPECT_EQ(sizes(words("cat", 72) + ", dog dog , dog", 20), (std::vector<size_t>{75, 2}));  // ... with one before it
  EXPECT_EQ(sizes(words("cat", 74) + ", dog", 20), (std::vector<size_t>{75, 1}));  // a comma as the last that fits
  EXPECT_EQ(sizes(words("cat", 71) + ", dog", 20), (std::vector<size_t>{73}));     // nothing to cut
  const auto chunked = chunk(words("cat", 70) + ", (" + words("dog", 6) + ":2)",
                             {.pad_id = kEnd, .comma_backtrack = 20, .extra_words = {}});
  EXPECT_EQ(chunked.chunks[0].ids[71], kComma);
  EXPECT_EQ(chunked.chunks[0].weights[72], 1.0f);  // padding has no weight
  EXPECT_EQ(chunked.chunks[1].weights[1], 2.0f);   // weights move along
  EXPECT_EQ(chunked.tokens, 77u);
}

TEST(Chunks, ExtraWordsBecomeTheirRows) {
  const ExtraWord easy{"Easy", 578, 2}, longer{"easy-2", 580, 3};
  for (const auto& extra : {std::vector{easy, longer}, std::vector{longer, easy}}) {  // the order does not matter
    const auto chunked = chunk("cat, (EASY:0.5), easy-2. uneasy easy_x", {.pad_id = kEnd, .extra_words = extra});
    const auto tokens = tokens_of(chunked.chunks[0]);
    const std::vector<int32_t> head = {kCat, kComma, 578, 579, kComma, 580, 581, 582, kPeriod};
    ASSERT_GT(tokens.size(), head.size());
    EXPECT_EQ(std::vector<int32_t>(tokens.begin(), tokens.begin() + 9), head);
    EXPECT_TRUE(std::all_of(tokens.begin() + 9, tokens.end(), [](int32_t id) { return id < kStart; }));
    EXPECT_EQ(chunked.chunks[0].weights[3], 0.5f);
    EXPECT_EQ(chunked.chunks[0].weights[4], 0.5f);
    EXPECT_EQ(chunked.tokens, tokens.size());
  }
}

TEST(Chunks, ExtraWordsStayInOneChunk) {
  const ExtraWord extra[] = {{"easy", 578, 4}};
  const ChunkOptions options{.pad_id = kEnd, .extra_words = extra};
  const std::tuple<int, size_t, size_t> cases[] = {{71, 75, 0}, {72, 72, 4}, {75, 75, 4}};
  for (const auto& [before, first, second] : cases) {
    const auto chunked = chunk(words("cat", before) + "easy", options);
    EXPECT_EQ(tokens_of(chunked.chunks[0]).size(), first);
    ASSERT_EQ(chunked.chunks.size(), second > 0 ? 2u : 1u);
    if (second > 0) {
      EXPECT_EQ(tokens_of(chunked.chunks[1]), (std::vector<int32_t>{578, 579, 580, 581}));
    }
  }
}

TEST(Chunks, MentionsAreWhatWouldBeReplaced) {
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"a fox", "fox", true},
      {"a FOX!", "Fox", true},
      {"foxes", "fox", false},
      {"a (red (fox:2))", "fox", true},
      {"(fo:2)x", "fox", false},
      {"x BREAK fox", "fox", true},
      {"<s1>", "<s1>", true},
      {"a<s1>b", "<s1>", true},
      {"a red fox", "red fox", true},
      {"", "fox", false},
      {"fox", "", false},
  };
  for (const auto& [text, word, expected] : cases) {
    const auto prompt = parse_prompt(text);
    ASSERT_TRUE(prompt);
    EXPECT_EQ(mentions(*prompt, word), expected) << text << " / " << word;
  }
}

TEST(Chunks, RefuseExtraWordsThatDoNotFit) {
  const std::pair<ExtraWord, std::string> cases[] = {
      {{"big", 578, 76}, "embedding big: has 76 rows, a chunk takes 1 to 75"},
      {{"none", 578, 0}, "embedding none: has 0 rows, a chunk takes 1 to 75"},
      {{"", 578, 1}, "embedding: its word is empty; give its file a name"},
  };
  for (const auto& [word, message] : cases) {
    const auto result = chunk_prompt(Prompt(1), tiny_tokenizer(), {.pad_id = 0, .extra_words = std::span(&word, 1)});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
    EXPECT_EQ(result.error().message, message);
  }
}

}  // namespace
}  // namespace veneer::text
