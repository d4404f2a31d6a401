// The Unicode helpers: positions of bad bytes, composition, lower case, classes, word borders.
#include "text/unicode.h"

#include <gtest/gtest.h>

namespace veneer::text {
namespace {

TEST(CheckText, NamesTheFirstBadByte) {
  using std::string_literals::operator""s;
  const struct {
    std::string text;
    std::string place;
  } cases[] = {
      {"\xC3", "byte 0 (0xC3)"},              // a lead byte alone
      {"ab\xC3", "byte 2 (0xC3)"},            // at the end
      {"a\xC3(b", "byte 1 (0xC3)"},           // in front of an ordinary character
      {"x\xF0\x9F\x99", "byte 1 (0xF0)"},     // a cut four-byte sequence
      {"\xE6\x97 y", "byte 0 (0xE6)"},        // a cut three-byte sequence
      {"caf\xC3\xA9 \x80", "byte 6 (0x80)"},  // a continuation alone, behind a good one
      {"\xC0\xAF", "byte 0 (0xC0)"},          // overlong
      {"\xED\xA0\x80", "byte 0 (0xED)"},      // a surrogate
      {"\xF4\x90\x80\x80", "byte 0 (0xF4)"},  // above U+10FFFF
      {"a\0\xFF"s, "byte 2 (0xFF)"},          // NUL is no end
  };
  for (const auto& c : cases) {
    const Status status = check_text(c.text, "prompt");
    ASSERT_FALSE(status) << c.place;
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    EXPECT_EQ(status.error().message, "prompt: " + c.place + " starts no valid UTF-8 character; pass UTF-8 text");
  }
  EXPECT_TRUE(check_text("caf\xC3\xA9 \xF0\x9F\x99\x82 \xEF\xBF\xBD", "prompt"));
}

TEST(CheckText, RefusesEndlessText) {
  EXPECT_TRUE(check_text(std::string(kMaxTextBytes, 'a'), "prompt"));
  const Status status = check_text(std::string(kMaxTextBytes + 1, 'a'), "negative prompt");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "negative prompt: has 32769 bytes, at most 32768 are accepted; shorten it");
}

TEST(ToNfc, ComposesAndReorders) {
  EXPECT_EQ(to_nfc("e\u0301"), U"\u00E9");
  EXPECT_EQ(to_nfc("a\u0302\u0323"), U"\u1EAD");         // marks sorted by class, then both composed
  EXPECT_EQ(to_nfc("q\u0307"), U"q\u0307");              // has no composed form
  EXPECT_EQ(to_nfc("\u1112\u1161\u11AB"), U"\uD55C");    // Hangul
  EXPECT_EQ(to_nfc("\u212B \u212A"), U"\u00C5 K");       // Angstrom and Kelvin signs are canonical equivalents
  EXPECT_EQ(to_nfc("\uFB01 \uFF21"), U"\uFB01 \uFF21");  // ligature and full-width form are not
  EXPECT_EQ(to_nfc("\u0915\u093C"), U"\u0915\u093C");    // a composition exclusion
}

// A prompt full of marks in descending order of class: 230 (above), then 220 (below). The first of each class composes.
TEST(ToNfc, SortsLongRunsOfMarks) {
  constexpr size_t kCount = 8000;
  std::string text = "a";
  for (size_t i = 0; i < kCount; ++i) text += "\u0301";
  for (size_t i = 0; i < kCount; ++i) text += "\u0323";
  const std::u32string expected = U"\u1EA1" + std::u32string(kCount - 1, U'\u0323') + std::u32string(kCount, U'\u0301');
  EXPECT_TRUE(to_nfc(text) == expected);
}

TEST(AppendLower, IsFullAndWithoutContext) {
  const auto lower = [](std::u32string_view text) {
    std::u32string out;
    for (const char32_t c : text) append_lower(c, out);
    return out;
  };
  EXPECT_EQ(lower(U"ABC xyz 1"), U"abc xyz 1");
  EXPECT_EQ(lower(U"\u0130"), U"i\u0307");
  EXPECT_EQ(lower(U"\u039F\u03A3 "), U"\u03BF\u03C3 ");  // not the final sigma U+03C2
  EXPECT_EQ(lower(U"\u01C5\u1E9E\u13A0"), U"\u01C6\u00DF\uAB70");
}

TEST(CharacterClasses, FollowUnicodeCategories) {
  for (const char32_t c : std::u32string_view(U"\t\n\v\f\r \u0085\u00A0\u1680\u2003\u2028\u2029\u202F\u205F\u3000"))
    EXPECT_TRUE(is_white_space(c)) << std::hex << static_cast<uint32_t>(c);
  for (const char32_t c : std::u32string_view(U"\u001C\u001F\u180E\u200B\u200D\uFEFF_a"))
    EXPECT_FALSE(is_white_space(c)) << std::hex << static_cast<uint32_t>(c);
  EXPECT_TRUE(is_letter(U'\u65E5'));
  EXPECT_TRUE(is_letter(U'\u02B0'));   // modifier letter
  EXPECT_FALSE(is_letter(U'\u0301'));  // mark
  EXPECT_FALSE(is_letter(U'_'));
  EXPECT_TRUE(is_number(U'7'));
  EXPECT_TRUE(is_number(U'\u00BD'));   // fraction
  EXPECT_TRUE(is_number(U'\u2167'));   // Roman numeral
  EXPECT_FALSE(is_number(U'\u4E94'));  // the ideograph for five is a letter
}

TEST(WordBorders, LookAtWholeCharacters) {
  EXPECT_TRUE(is_word_border("", 0));
  EXPECT_TRUE(is_word_border("ab", 0));
  EXPECT_FALSE(is_word_border("ab", 1));
  EXPECT_TRUE(is_word_border("ab", 2));
  EXPECT_TRUE(is_word_border("a-b", 1));
  EXPECT_FALSE(is_word_border("a_b", 1));
  EXPECT_FALSE(
      is_word_border("\u65E5"
                     "B",
                     3));  // ideographs are letters
  EXPECT_TRUE(
      is_word_border("\uFF0C"
                     "B",
                     3));  // the full-width comma is not
}

TEST(PrefixIgnoringCase, CountsBytesOfTheText) {
  EXPECT_EQ(prefix_ignoring_case("EasyNegative, x", "easynegative"), 12u);
  EXPECT_EQ(prefix_ignoring_case("\u00C4pfel", "\u00E4PFEL"), 6u);
  EXPECT_EQ(prefix_ignoring_case("\u212Aelvin", "kelvin"), 8u);  // three bytes stand for one
  EXPECT_EQ(prefix_ignoring_case("easy", "easynegative"), 0u);
  EXPECT_EQ(prefix_ignoring_case("other", "easy"), 0u);
  EXPECT_EQ(prefix_ignoring_case("text", ""), 0u);
}

}  // namespace
}  // namespace veneer::text
