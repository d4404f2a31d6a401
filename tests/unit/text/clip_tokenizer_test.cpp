// P1 of the acceptance cases: the rules of CLIP's tokenizer, seen through the small vocabulary of the test model (ids
// with the real vocabulary: golden/text). Where no merge applies, a piece is its bytes: inner symbols, then one final
// symbol, which is 256 higher.
#include "text/clip_tokenizer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/format.h"
#include "core/json.h"
#include "text/unicode.h"
#include "text_fixture.h"

namespace veneer::text {
namespace {

using Ids = std::vector<int32_t>;

Ids encode(std::string_view text) {
  const auto ids = tiny_tokenizer().encode(text);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids();
}

// The ids of a text that is one piece without merges.
Ids unmerged(std::string_view piece) {
  const auto vocabulary = read_clip_folder(kTinyTokenizer);
  Ids ids;
  for (const char c : piece) ids.push_back(vocabulary->byte_ids[static_cast<uint8_t>(c)]);
  ids.back() = vocabulary->last_byte_ids[static_cast<uint8_t>(piece.back())];
  return ids;
}

Ids pieces(std::initializer_list<std::string_view> texts) {
  Ids ids;
  for (const auto text : texts)
    for (const int32_t id : unmerged(text)) ids.push_back(id);
  return ids;
}

TEST(ClipTokenizer, ReproducesTheTestModelsReferenceIds) {
  EXPECT_EQ(encode("a photo of a cat on the grass"), (Ids{320, 573, 513, 320, 550, 520, 514, 558}));
  EXPECT_EQ(encode("blurry background"), (Ids{549, 541}));
  EXPECT_EQ(tiny_tokenizer().start_id(), 576);
  EXPECT_EQ(tiny_tokenizer().end_id(), 577);
  EXPECT_EQ(tiny_tokenizer().pad_id(), 577);
  EXPECT_EQ(tiny_tokenizer().vocabulary_size(), 578);
}

TEST(ClipTokenizer, WhiteSpaceOnlySeparates) {
  EXPECT_EQ(encode(""), Ids());
  EXPECT_EQ(encode(" \t\r\n\u00A0\u3000\u0085"), Ids());
  for (const char* blank : {" ", "   ", "\n", "\r\n", "\v", "\f", "\u0085", "\u00A0", "\u2003", "\u2028", "\u3000"})
    EXPECT_EQ(encode(concat(" dog", blank, "cat ")), encode("dog cat")) << blank;
  for (const char* symbol : {"\x1C", "\u200B", "\uFEFF", "\u180E"})
    EXPECT_EQ(encode(concat("z", symbol, "z")), pieces({"z", symbol, "z"}));
  EXPECT_EQ(encode(std::string_view("z\0z", 3)), pieces({"z", std::string_view("\0", 1), "z"}));
}

TEST(ClipTokenizer, LowerCasesWithoutContext) {
  EXPECT_EQ(encode("CAT Dog"), encode("cat dog"));
  EXPECT_EQ(encode("\u0130z"), pieces({"i", "\u0307", "z"}));  // the dot is a mark and splits the word
  EXPECT_EQ(encode("\u039F\u03A3"), pieces({"\u03BF\u03C3"}));
  EXPECT_EQ(encode("\u03C2"), pieces({"\u03C2"}));  // a final sigma that is there already stays
  EXPECT_EQ(encode("\u1E9E"), pieces({"\u00DF"}));
}

TEST(ClipTokenizer, ComposesBeforeItSplits) {
  EXPECT_EQ(encode("ze\u0301z"), pieces({"z\u00E9z"}));
  EXPECT_EQ(encode("Z\u00C9"), encode("ze\u0301"));
  EXPECT_EQ(encode("zq\u0307z"), pieces({"zq", "\u0307", "z"}));  // no composed form: the mark splits
  EXPECT_EQ(encode("\u212A"), encode("k"));                       // the Kelvin sign
}

TEST(ClipTokenizer, SplitsDigitsContractionsAndSymbols) {
  EXPECT_EQ(encode("123"), pieces({"1", "2", "3"}));
  EXPECT_EQ(encode("z2\u00BD\u2167"), pieces({"z", "2", "\u00BD", "\u2177"}));
  EXPECT_EQ(encode("z's"), pieces({"z", "'s"}));
  EXPECT_EQ(encode("z'LL've"), pieces({"z", "'ll", "'ve"}));
  EXPECT_EQ(encode("'single'"), pieces({"'s", "ingle", "'"}));  // a contraction matches anywhere
  EXPECT_EQ(encode("''s"), pieces({"''", "s"}));                // ... but not inside a run of symbols
  EXPECT_EQ(encode("z'k"), pieces({"z", "'", "k"}));
  EXPECT_EQ(encode("z,.!z _"), pieces({"z", ",.!", "z", "_"}));
}

TEST(ClipTokenizer, KeepsOtherScriptsAndJoinedEmojiWhole) {
  EXPECT_EQ(encode("\u65E5\u672C\u8A9E"), pieces({"\u65E5\u672C\u8A9E"}));
  EXPECT_EQ(encode("\u05E2\u05D1"), pieces({"\u05E2\u05D1"}));
  EXPECT_EQ(encode("\u0939\u093F"), pieces({"\u0939", "\u093F"}));  // a vowel sign is a mark
  const char* family = "\U0001F469\u200D\U0001F467";
  EXPECT_EQ(encode(family), pieces({family}));
  const char* thumb = "\U0001F44D\U0001F3FD";
  EXPECT_EQ(encode(concat("z", thumb, "z")), pieces({"z", thumb, "z"}));
}

TEST(ClipTokenizer, SpecialStringsAreExact) {
  EXPECT_EQ(encode("<|startoftext|>"), Ids{576});
  EXPECT_EQ(encode("z<|endoftext|>z"), (Ids{345, 577, 345}));
  EXPECT_EQ(encode("<|endoftext|><|startoftext|> z <|endoftext|>"), (Ids{577, 576, 345, 577}));
  EXPECT_EQ(encode("<|zz|>"), pieces({"<|", "zz", "|>"}));
  EXPECT_EQ(encode("<|ENDOFTEXT|>"), encode("<| endoftext |>"));
  EXPECT_EQ(encode("<|endoftext|").back(), unmerged("|").back());
}

TEST(ClipTokenizer, AnswersBrokenUtf8WithThePosition) {
  for (const char* text : {"cat \xC3", "cat \xF0\x9F\x99", "cat \xED\xA0\x80 dog"}) {
    const auto ids = tiny_tokenizer().encode(text);
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error().code, ErrorCode::kUsage);
    EXPECT_TRUE(contains(ids.error().message, "byte 4 (0x")) << ids.error().message;
  }
  EXPECT_FALSE(tiny_tokenizer().encode("<|endoftext|>\x80"));
}

// One piece of the greatest length, joined completely: here a method that rescans after each join would be noticed.
TEST(ClipTokenizer, JoinsLongPieces) {
  std::string text;
  while (text.size() + 4 <= kMaxTextBytes) text += "blue";
  const Ids ids = encode(text);
  ASSERT_FALSE(ids.empty());
  EXPECT_EQ(ids.back(), encode("blue").back());
  EXPECT_LE(ids.size(), text.size() / 2);
  EXPECT_FALSE(tiny_tokenizer().encode(std::string(kMaxTextBytes + 1, 'a')));
}

// The rule as it is written in papers: find the lowest pair, join all its occurrences from left to right, repeat.
std::vector<std::string> join_by_rescanning(std::vector<std::string> symbols,
                                            const std::map<std::pair<std::string, std::string>, size_t>& ranks) {
  while (true) {
    auto best = ranks.end();
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = ranks.find({symbols[i], symbols[i + 1]});
      if (found != ranks.end() && (best == ranks.end() || found->second < best->second)) best = found;
    }
    if (best == ranks.end()) return symbols;
    std::vector<std::string> joined;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const bool here = i + 1 < symbols.size() && std::pair(symbols[i], symbols[i + 1]) == best->first;
      joined.push_back(here ? symbols[i] + symbols[i + 1] : symbols[i]);
      if (here) ++i;
    }
    symbols = std::move(joined);
  }
}

TEST(ClipTokenizer, AgreesWithRescanningOnRandomWords) {
  const Json vocabulary = *parse_json(*read_text_file(kTinyTokenizer / "vocab.json"), "vocab.json");
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (const std::string& line : split(*read_text_file(kTinyTokenizer / "merges.txt"), '\n'))
    if (const auto parts = split(line, ' '); parts.size() == 2 && !line.starts_with('#'))
      ranks.emplace(std::pair(parts[0], parts[1]), ranks.size());
  ASSERT_EQ(ranks.size(), 64u);
  std::mt19937 random(7);
  size_t joins = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string_view parts[] = {"a",  "b",  "e",   "n",   "o",  "t",   "bl", "ue",   "ack", "gr",
                                      "ou", "nd", "ain", "ing", "he", "alt", "be", "port", "ho",  "ers"};
    std::string word;
    for (size_t count = 1 + random() % 6; count > 0; --count) word += parts[random() % std::size(parts)];
    std::vector<std::string> symbols;
    for (const char c : word) symbols.emplace_back(1, c);
    symbols.back() += "</w>";
    const auto joined = join_by_rescanning(symbols, ranks);
    joins += symbols.size() - joined.size();
    Ids expected;
    for (const std::string& symbol : joined) expected.push_back(vocabulary.at(symbol).get<int32_t>());
    EXPECT_EQ(encode(word), expected) << word;
  }
  EXPECT_GT(joins, 2000u);  // the words do exercise the merges
}

}  // namespace
}  // namespace veneer::text
