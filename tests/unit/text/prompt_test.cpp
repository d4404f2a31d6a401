// The weight grammar: reference results, corners, and that the normal form reads back.
#include "text/prompt.h"

#include <gtest/gtest.h>

#include <random>

#include "text/unicode.h"

namespace veneer::text {
namespace {

Prompt parse(std::string_view text) {
  const auto prompt = parse_prompt(text);
  EXPECT_TRUE(prompt) << prompt.error().message;
  return prompt ? *prompt : Prompt();
}

constexpr double kUp = 1.1;
constexpr double kDown = 1 / 1.1;

// The example in the documentation of the reference parser. Products are taken from the inside out, as there, so that
// even the last bit agrees.
TEST(Prompt, ReproducesTheReferenceExample) {
  EXPECT_EQ(parse("a (((house:1.3)) [on] a (hill:0.5), sun, (((sky)))."), (Prompt{{{"a ", 1.0},
                                                                                   {"house", 1.3 * kUp * kUp},
                                                                                   {" ", kUp},
                                                                                   {"on", 1.0},
                                                                                   {" a ", kUp},
                                                                                   {"hill", 0.5 * kUp},
                                                                                   {", sun, ", kUp},
                                                                                   {"sky", kUp * kUp * kUp * kUp},
                                                                                   {".", kUp}}}));
  EXPECT_NEAR(1.3 * kUp * kUp, 1.573, 1e-12);
  EXPECT_NEAR(kUp * kUp * kUp * kUp, 1.4641, 1e-12);
}

TEST(Prompt, TableOfCases) {
  const struct {
    const char* text;
    Prompt prompt;
  } cases[] = {
      {"", {{}}},
      {"normal text", {{{"normal text", 1.0}}}},
      {"an (important) word", {{{"an ", 1.0}, {"important", kUp}, {" word", 1.0}}}},
      {"(unbalanced", {{{"unbalanced", kUp}}}},
      {"[unbalanced (twice", {{{"unbalanced ", kDown}, {"twice", kUp * kDown}}}},
      {"closed) twice]", {{{"closed) twice]", 1.0}}}},
      {"()[]((", {{}}},
      {"(a:-0.5) (b:+2) (c:.5) (d:3.)",
       {{{"a", -0.5}, {" ", 1.0}, {"b", 2.0}, {" ", 1.0}, {"c", 0.5}, {" ", 1.0}, {"d", 3.0}}}},
      {"(a: 1.5 )", {{{"a", 1.5}}}},
      {"(a:0)", {{{"a", 0.0}}}},
      {"(a:1.2:1.3)", {{{"a:1.2", 1.3}}}},
      {"(a:1.2.3)", {{{"a:1.2.3", kUp}}}},  // no number: text in brackets
      {"(a:)", {{{"a:", kUp}}}},
      {"(a:1e3)", {{{"a:1e3", kUp}}}},
      {"(a:+-1)", {{{"a:+-1", kUp}}}},
      {"(a:nan) (b:inf)", {{{"a:nan", kUp}, {" ", 1.0}, {"b:inf", kUp}}}},
      {"a:1.3) b", {{{"a:1.3) b", 1.0}}}},
      {"[a:0.5]", {{{"a:0.5", kDown}}}},                    // a number weighs round brackets only
      {"[(a]b)c", {{{"a", 1.0}, {"b", kUp}, {"c", 1.0}}}},  // kinds are matched apart
      {"(a(b", {{{"a", kUp}, {"b", kUp * kUp}}}},
      {"(a)(b)", {{{"ab", kUp}}}},  // neighbours of one weight are one piece
      {"(a)()b", {{{"a", kUp}, {"b", 1.0}}}},
      {R"(\(a\) \[b\] c\\d)", {{{R"((a) [b] c\d)", 1.0}}}},
      {R"((a\):1.5))", {{{"a)", 1.5}}}},
      {R"(a\b \: \)", {{{"ab : ", 1.0}}}},
      {"a:b", {{{"a:b", 1.0}}}},
      {"time 12:30", {{{"time 12:30", 1.0}}}},
  };
  for (const auto& c : cases) EXPECT_EQ(parse(c.text), c.prompt) << c.text;
}

TEST(Prompt, BreaksAtWholeWordsOnly) {
  const struct {
    const char* text;
    Prompt prompt;
  } cases[] = {
      {"a BREAK b", {{{"a", 1.0}}, {{"b", 1.0}}}},
      {"a\n BREAK \t b", {{{"a", 1.0}}, {{"b", 1.0}}}},
      {"BREAK", {{}, {}}},
      {"a BREAK BREAK b", {{{"a", 1.0}}, {}, {{"b", 1.0}}}},
      {"a,BREAK,b", {{{"a,", 1.0}}, {{",b", 1.0}}}},
      {"break Break BREAKFAST OUTBREAK BREAK_ BREAK1", {{{"break Break BREAKFAST OUTBREAK BREAK_ BREAK1", 1.0}}}},
      {"\u65E5"
       "BREAK",
       {{{"\u65E5"
          "BREAK",
          1.0}}}},
      {"\u65E5\uFF0C"
       "BREAK",
       {{{"\u65E5\uFF0C", 1.0}}, {}}},
      {"(a BREAK b:1.5)", {{{"a", 1.5}}, {{"b", 1.5}}}},  // brackets reach across
      {"(a )BREAK( b)", {{{"a", kUp}}, {{"b", kUp}}}},
      {"a ( )BREAK[ ] b", {{{"a", 1.0}}, {{"b", 1.0}}}},
      {R"(a BR\EAK b)", {{{"a BREAK b", 1.0}}}},  // how to write the word itself
  };
  for (const auto& c : cases) EXPECT_EQ(parse(c.text), c.prompt) << c.text;
}

TEST(Prompt, KeepsWeightsFinite) {
  const std::string huge = "(((a:1" + std::string(300, '0') + "):1" + std::string(300, '0') + "):-2)";
  EXPECT_EQ(parse(huge), (Prompt{{{"a", -kMaxPromptWeight}}}));
  EXPECT_EQ(parse("(a:1" + std::string(400, '0') + ")").front().front().weight, kUp);  // no double: text in brackets
  EXPECT_EQ(parse(std::string(kMaxTextBytes - 1, '(') + "a"), (Prompt{{{"a", kMaxPromptWeight}}}));
}

TEST(Prompt, RefusesWhatIsNoText) {
  const auto broken = parse_prompt("a (b\xC3:1.2)", "negative prompt");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kUsage);
  EXPECT_EQ(broken.error().message, "negative prompt: byte 4 (0xC3) starts no valid UTF-8 character; pass UTF-8 text");
  EXPECT_FALSE(parse_prompt(std::string(kMaxTextBytes + 1, 'a')));
}

TEST(PrintPrompt, WritesTheNormalForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"a cat", "a cat"},
      {"(a:2)(b:2) [c", "(ab:2) (c:0.9090909090909091)"},
      {"(a:-.5)", "(a:-0.5)"},
      {"(a:0.0000001)", "(a:0.0000001)"},  // never with an exponent, which would not read back
      {R"(\(a\) \\ ])", R"(\(a\) \\ \])"},
      {"a   BREAK(b:3)", "a BREAK (b:3)"},
      {R"(a BR\EAK BREAKFAST)", R"(a B\REAK BREAKFAST)"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(print_prompt(parse(text)), printed) << text;
}

TEST(PrintPrompt, ReadsBackForRandomTexts) {
  const std::string_view parts[] = {"(",       ")",     "[",  "]",   "\\", ":",      "1.3",
                                    ":0.7)",   "-2",    ".",  " ",   "\n", "cat",    "BREAK",
                                    " BREAK ", "BREAK", "BR", "EAK", "_",  "\u00E9", "\u3000"};
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t count = random() % 24; count > 0; --count) text += parts[random() % std::size(parts)];
    const Prompt prompt = parse(text);
    const std::string printed = print_prompt(prompt);
    EXPECT_EQ(parse(printed), prompt) << text << "\n" << printed;
    EXPECT_EQ(print_prompt(parse(printed)), printed) << text;
  }
}

}  // namespace
}  // namespace veneer::text
