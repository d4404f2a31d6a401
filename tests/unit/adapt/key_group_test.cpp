// Parts as numbers: the forms that alpha takes, where the scale comes from, and what is refused with which words.
#include "adapt/key_group.h"

#include <cmath>
#include <limits>

#include "tests/unit/adapt/family_support.h"

namespace veneer::adapt {
namespace {

using test::expect_says;
using test::group_of;
using test::integer_part;
using test::key_part;

TEST(KeyGroup, ReadsAlphaInAnyForm) {
  KeyGroup group;
  for (const char* codec : {"f32", "f16", "bf16"})
    for (const Shape& shape : {Shape{}, Shape{1}}) {
      group.parts["alpha"] = key_part({"alpha", shape, {16}}, codec);
      EXPECT_EQ(*group.number("alpha"), 16.0) << codec;
    }
  group.parts["alpha"] = integer_part("alpha", {}, {-3});
  EXPECT_EQ(*group.number("alpha"), -3.0);
}

// Case F3: ranks differ from module to module, and so does what they are divided by.
TEST(KeyGroup, ScaleIsAlphaOverTheRankOfTheModule) {
  EXPECT_EQ(*group_of({}).scale_for(64), 1.0);
  EXPECT_EQ(*group_of({{"alpha", {}, {32}}}).scale_for(64), 0.5);
  EXPECT_EQ(*group_of({{"alpha", {}, {16}}}).scale_for(16), 1.0);
  EXPECT_EQ(*group_of({{"alpha", {}, {0}}}).scale_for(16), 0.0);
  EXPECT_EQ(*group_of({{"alpha", {}, {-8}}}).scale_for(16), -0.5);
}

TEST(KeyGroup, AScaleKeyComesBeforeTheConfigurationAndThatBeforeAlpha) {
  KeyGroup group = group_of({{"alpha", {}, {2}}});
  group.settings.alpha = 8;
  EXPECT_EQ(*group.scale_for(16), 0.5);
  group.settings.rank_stabilised = true;
  EXPECT_EQ(*group.scale_for(16), 2.0);
  group.parts["scale"] = key_part({"scale", {}, {0.25f}});
  EXPECT_EQ(*group.scale_for(16), 0.25);
  // Trainers that stabilise and store alpha have worked it into the number.
  KeyGroup stored = group_of({{"alpha", {}, {2}}});
  stored.settings.rank_stabilised = true;
  EXPECT_EQ(*stored.scale_for(16), 0.125);
}

TEST(KeyGroup, SaysWhatIsMissing) {
  expect_says(group_of({{"alpha", {}, {2}}, {"up", {1}, {1}}}).need("down").error(), ErrorCode::kMismatch,
              {"module module: has alpha, up but no down"});
}

TEST(KeyGroup, RefusesWhatHoldsNothingOrNoNumbers) {
  KeyGroup group = group_of({{"down", {0, 4}, {}}, {"alpha", {2}, {1, 2}}});
  expect_says(group.need("down").error(), ErrorCode::kMismatch, {"module.down", "[0, 4]", "rank 0"});
  expect_says(group.number("alpha").error(), ErrorCode::kMismatch, {"module.alpha", "[2]", "one number"});
  group.parts["down"] = integer_part("down", {1, 1}, {7});
  expect_says(group.need("down").error(), ErrorCode::kUnsupported, {"module.down", "I64"});
  group.parts["down"].type = "C64";
  expect_says(group.integers("down").error(), ErrorCode::kUnsupported, {"C64"});
}

TEST(KeyGroup, CountsValuesThatAreNotFinite) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const KeyGroup group = group_of({{"up", {2, 2}, {1, nan, -infinity, nan}}, {"alpha", {}, {infinity}}});
  expect_says(group.need("up").error(), ErrorCode::kBadFile, {"key module.up has 3 non-finite values"});
  expect_says(group.scale_for(4).error(), ErrorCode::kBadFile, {"module.alpha"});
}

TEST(KeyGroup, RefusesBytesThatAreNotThoseOfTheShape) {
  KeyGroup group = group_of({{"up", {2, 2}, {1, 2, 3, 4}}});
  group.parts["up"].weight.shape = {3, 2};
  EXPECT_EQ(group.need("up").error().code, ErrorCode::kBadFile);
  group.parts["bias_size"] = integer_part("bias_size", {2}, {3, 4});
  group.parts["bias_size"].weight.shape = {3};
  expect_says(group.integers("bias_size").error(), ErrorCode::kBadFile, {"module.bias_size", "16 bytes"});
}

TEST(KeyGroup, ReadsWholeNumbersOfEitherKind) {
  KeyGroup group = group_of({{"a", {2}, {4, 5}}, {"b", {1}, {1.5f}}});
  EXPECT_EQ(*group.integers("a"), (std::vector<int64_t>{4, 5}));
  expect_says(group.integers("b").error(), ErrorCode::kBadFile, {"module.b", "1.5"});
  group.parts["c"] = integer_part("c", {2}, {-1, int64_t{1} << 40});
  EXPECT_EQ(*group.integers("c"), (std::vector<int64_t>{-1, int64_t{1} << 40}));
}

}  // namespace
}  // namespace veneer::adapt
