// Progress as text.
#include "progress.h"

#include <gtest/gtest.h>

namespace veneer::cli {
namespace {

TEST(Progress, BytesAreAShareOfAWhole) {
  EXPECT_EQ(bytes_line("convert", 0, 2'100'000'000), "convert 0% of 2.1 GB");
  EXPECT_EQ(bytes_line("convert", 29, 100), "convert 29% of 100 B");
  EXPECT_EQ(bytes_line("convert", 99'999, 100'000), "convert 99% of 100 kB");
  EXPECT_EQ(bytes_bar("convert", 100'000, 100'000),
            "convert |========================================| 100% of 100 kB");
  EXPECT_EQ(bytes_bar("c", 50'000, 100'000), "c |====================>                   | 50% of 100 kB");
}

TEST(Progress, StepsAreCounted) {
  EXPECT_EQ(progress_bar("sample", 0, 3, 0), "sample |>                                       | 0/3");
  EXPECT_EQ(progress_line("sample", 3, 20, 0.5), "sample 3/20 - 2.00 it/s");
}

}  // namespace
}  // namespace veneer::cli
