// Numbers out of text, sizes into text, and the nearest of several names.
#include "core/format.h"

#include <gtest/gtest.h>

namespace veneer {
namespace {

TEST(Format, NumbersAreReadWholeOrNotAtAll) {
  int64_t whole = 0;
  double real = 0;
  EXPECT_TRUE(parse_number("-42", whole) && whole == -42);
  EXPECT_TRUE(parse_number("+7", whole) && whole == 7);
  EXPECT_TRUE(parse_number("1e-3", real) && real == 1e-3);
  for (const char* bad : {"", "+", "-", "+-1", "1 ", " 1", "1x", "0x10", "99999999999999999999", "1.5"})
    EXPECT_FALSE(parse_number(bad, whole)) << bad;
  for (const char* bad : {"", "nan", "inf", "-inf", "1e999", "1,5", "+-1", "1.2.3"})
    EXPECT_FALSE(parse_number(bad, real)) << bad;
  EXPECT_EQ(whole, 7) << "a failed reading leaves the value alone";
}

TEST(Format, BytesInDecimalUnits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(12500), "12.5 kB");
  EXPECT_EQ(bytes_text(2132696762), "2.1 GB");
}

TEST(Format, SplitJoinTrim) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(join(split("a,b,c", ','), " + "), "a + b + c");
  EXPECT_EQ(trim(" \t x y \n"), "x y");
  EXPECT_EQ(trim("  "), "");
}

TEST(Format, NearestNames) {
  const std::vector<std::string> names{"euler", "euler_a", "heun", "lms"};
  EXPECT_EQ(nearest_names("eulr", names, 2), (std::vector<std::string>{"euler", "euler_a"}));
  EXPECT_TRUE(nearest_names("x", {}, 3).empty());
}

}  // namespace
}  // namespace veneer
