// The rules of T5's segmentation on vocabularies of a few pieces.
#include "text/t5_tokenizer.h"

#include <gtest/gtest.h>

#include "tests/unit/text/t5_fixture.h"
#include "text/unicode.h"

namespace veneer::text {
namespace {

using Ids = std::vector<int32_t>;

T5Tokenizer tokenizer_of(const std::string& pieces) {
  auto vocabulary = parse_t5_model(control_pieces() + pieces, "test");
  EXPECT_TRUE(vocabulary) << vocabulary.error().message;
  return T5Tokenizer(vocabulary ? *std::move(vocabulary) : T5Vocabulary());
}

Ids encode(const T5Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : Ids();
}

TEST(T5Tokenizer, TakesThePathOfTheLargestSum) {
  // ▁ab + c: -5; ▁a + bc: -4.5; ▁ + a + b + c: -8.
  const auto tokenizer = tokenizer_of(piece("▁", -2) + piece("a", -2) + piece("b", -2) + piece("c", -2) +
                                      piece("▁ab", -3) + piece("▁a", -1.5f) + piece("bc", -3));
  EXPECT_EQ(encode(tokenizer, "abc"), (Ids{8, 9}));
  EXPECT_EQ(encode(tokenizer, "ab"), (Ids{7}));
}

TEST(T5Tokenizer, OfEqualPathsTheLongerLastPieceStays) {
  const auto tokenizer = tokenizer_of(piece("▁", -1) + piece("a", -1) + piece("▁a", -1) + piece("aa", -1));
  EXPECT_EQ(encode(tokenizer, "aa"), (Ids{3, 6}));  // not ▁a a
}

TEST(T5Tokenizer, ABlankIsPutInFrontAndBlanksAreJoined) {
  const auto tokenizer = tokenizer_of(piece("▁", -3) + piece("▁a", -1) + piece("a", -2));
  for (const char* text : {"a a", "  a   a  ", "▁a▁a", "▁ a ▁▁ a▁"}) EXPECT_EQ(encode(tokenizer, text), (Ids{4, 4}));
  for (const char* text : {"", " ", "   ", "▁"}) EXPECT_EQ(encode(tokenizer, text), Ids());
}

TEST(T5Tokenizer, NeighboursThatAreUnknownBecomeOne) {
  const auto tokenizer = tokenizer_of(piece("▁", -1) + piece("a", -1));
  EXPECT_EQ(encode(tokenizer, "xyaé漢🙂"), (Ids{3, 2, 4, 2}));
  EXPECT_EQ(encode(tokenizer, "x y"), (Ids{3, 2, 3, 2}));
}

// "Q" is no piece although one begins with it.
TEST(T5Tokenizer, TheBeginningOfAPieceIsUnknownByItself) {
  const auto tokenizer = tokenizer_of(piece("▁", -1) + piece("Qu", -1) + piece("a", -1));
  EXPECT_EQ(encode(tokenizer, "QuQa"), (Ids{3, 4, 2, 5}));
}

// 10 below the lowest score, so that a worse path of known pieces still wins.
TEST(T5Tokenizer, AnUnknownCharacterCostsMoreThanAnyPiece) {
  const auto pieces = piece("▁", -1) + piece("ab", -14) + piece("b", -1);
  EXPECT_EQ(encode(tokenizer_of(pieces), "ab"), (Ids{3, 4}));                               // -14 against -24 - 1
  EXPECT_EQ(encode(tokenizer_of(pieces + piece("c", -40)), "ab"), (Ids{3, 4}));             // -14 against -50 - 1
  EXPECT_EQ(encode(tokenizer_of(piece("▁", -1) + piece("ab", -14) + piece("b", 3)), "ab"),  // -14 against -24 + 3
            (Ids{3, 4}));
}

TEST(T5Tokenizer, ControlAndUnusedPiecesNeverMatch) {
  const auto tokenizer = tokenizer_of(piece("▁", -1) + piece("<", -1) + piece("/", -1) + piece("s", -1) +
                                      piece(">", -1) + piece("</", 5, 5));
  EXPECT_EQ(encode(tokenizer, "</s>"), (Ids{3, 4, 5, 6, 7}));
}

TEST(T5Tokenizer, RefusesWhatIsNoText) {
  const auto tokenizer = tokenizer_of(piece("▁", -1));
  const auto broken = tokenizer.encode("ab\xff");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kUsage);
  EXPECT_FALSE(tokenizer.encode(std::string(kMaxTextBytes + 1, 'a')));
  EXPECT_TRUE(tokenizer.encode(std::string(kMaxTextBytes, 'a')));
}

}  // namespace
}  // namespace veneer::text
