// The memory that decoded weights get when nothing is asked for.
#include "pipeline/plan.h"

#include <gtest/gtest.h>

namespace veneer::pipeline {
namespace {

TEST(Plan, PanelsGetHalfOfWhatIsLeftAndNoMoreThanTheyNeed) {
  EXPECT_EQ(default_cache_bytes(1000, 200, 1600), 400u);
  EXPECT_EQ(default_cache_bytes(1000, 200, 1604), 0u);  // less than a quarter gains nothing
  EXPECT_EQ(default_cache_bytes(1000, 200, 300), 300u);
  EXPECT_EQ(default_cache_bytes(1000, 1000, 300), 0u);
  EXPECT_EQ(default_cache_bytes(1000, 2000, 300), 0u);
}

// A machine that does not tell its memory is taken for a small one.
TEST(Plan, UnknownMemoryIsTakenForLittle) {
  EXPECT_EQ(default_cache_bytes(0, 200, 300), 300u);
  EXPECT_EQ(default_cache_bytes(0, 200, uint64_t{5} << 30), uint64_t{3} << 29);
}

TEST(Plan, DecodesInTilesWhereTheWholeDoesNotFit) {
  TilingOptions asked;
  asked.tile_width = 48;
  EXPECT_EQ(tiling_within(asked, 1000, 1000), asked);
  EXPECT_EQ(tiling_within(asked, 1000, 0), asked);  // not known
  TilingOptions tiled = asked;
  tiled.enabled = true;
  EXPECT_EQ(tiling_within(asked, 1001, 1000), tiled);
  EXPECT_EQ(tiling_within(tiled, 10, 1000), tiled);
}

TEST(Plan, TheLineSaysWhatIsHeld) {
  Plan plan;
  plan.parts = {{io::Part::kDenoiser, 3'000'000}, {io::Part::kVae, 1'000'000}};
  plan.sample_bytes = 2000;
  plan.decode_bytes = 3000;
  plan.cache_bytes = 0;
  EXPECT_EQ(plan.line(), "plan: weights 4.0 MB, a model call 2.0 kB, decoding 3.0 kB, decoded weights kept up to 0 B");
  plan.held_bytes = 500'000;
  plan.available = 8'000'000'000;
  EXPECT_EQ(plan.line(),
            "plan: weights 4.0 MB (500 kB of them in memory), a model call 2.0 kB, decoding 3.0 kB, decoded weights "
            "kept up to 0 B; the machine can give 8.0 GB");
}

}  // namespace
}  // namespace veneer::pipeline
