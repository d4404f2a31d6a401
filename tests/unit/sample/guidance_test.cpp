// Guidance: identities of each rule, and the parser of schedules of scales.
#include "sample/guidance.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace veneer::sample {
namespace {

using Values = std::array<float, 3>;
constexpr Values kCond = {1.0f, 2.0f, -2.0f};
constexpr Values kUncond = {0.5f, -1.0f, 1.0f};
constexpr Values kImageUncond = {0.25f, 3.0f, 0.0f};

void expect_values(const Values& found, const std::array<double, 3>& expected, double tolerance = 1e-6) {
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

TEST(Guidance, ClassifierFree) {
  Values out;
  combine_guidance(kCond, kUncond, 7.0, out);
  expect_values(out, {4.0, 20.0, -20.0});
  combine_guidance(kCond, kUncond, 1.0, out);
  EXPECT_EQ(out, kCond);
  combine_guidance(kCond, kUncond, 0.0, out);
  EXPECT_EQ(out, kUncond);
  Values in_place = kCond;
  combine_guidance(in_place, kUncond, 7.0, in_place);
  expect_values(in_place, {4.0, 20.0, -20.0});
}

TEST(Guidance, WithImage) {
  Values out;
  combine_image_guidance(kCond, kUncond, kImageUncond, 7.0, 1.5, out);
  expect_values(out, {0.25 + 1.5 * 0.25 + 7 * 0.5, 3 - 1.5 * 4 + 7 * 3, 1.5 - 7 * 3});
  combine_image_guidance(kCond, kUncond, kImageUncond, 7.0, 1.0, out);  // off: plain guidance
  expect_values(out, {4.0, 20.0, -20.0});
}

TEST(Guidance, WhenTheUnconditionalPassIsNeeded) {
  EXPECT_FALSE(needs_uncond(1.0, 1.0));
  EXPECT_TRUE(needs_uncond(7.0, 1.0));
  EXPECT_TRUE(needs_uncond(0.0, 1.0));
  EXPECT_TRUE(needs_uncond(1.0, 1.5));
}

TEST(Guidance, RescaleMatchesTheDeviation) {
  const std::array<float, 4> cond = {1, -1, 1, -1};  // deviation 1
  std::array<float, 4> guided = {5, 1, 5, 1};        // deviation 2, mean 3
  rescale_guidance(cond, 0.0, guided);
  EXPECT_EQ(guided[0], 5.0f);
  rescale_guidance(cond, 0.5, guided);  // factor 0.5 * 1/2 + 0.5
  EXPECT_FLOAT_EQ(guided[0], 3.75f);
  EXPECT_FLOAT_EQ(guided[1], 0.75f);
  guided = {5, 1, 5, 1};
  rescale_guidance(cond, 1.0, guided);
  EXPECT_FLOAT_EQ(guided[0], 2.5f);
  std::array<float, 4> flat = {2, 2, 2, 2};
  rescale_guidance(cond, 1.0, flat);
  EXPECT_EQ(flat[0], 2.0f);
}

TEST(Apg, DefaultsArePlainGuidance) {
  EXPECT_FALSE(ApgOptions{}.active());
  Apg apg({});
  Values plain, projected;
  combine_guidance(kCond, kUncond, 7.0, plain);
  for (int step = 0; step < 2; ++step) {
    apg.combine(kCond, kUncond, 7.0, projected);
    expect_values(projected, {plain[0], plain[1], plain[2]}, 2e-6);
  }
}

TEST(Apg, EtaZeroRemovesTheParallelPart) {
  Apg apg({.eta = 0.0});
  Values out;
  apg.combine(kCond, kUncond, 3.0, out);
  double along = 0;  // of the change, along cond
  for (size_t i = 0; i < out.size(); ++i) along += (out[i] - kCond[i]) * kCond[i];
  EXPECT_NEAR(along, 0.0, 1e-5);
  // difference (0.5, 3, -3), cond (1, 2, -2): parallel factor 12.5 / 9.
  expect_values(out, {1 + 2 * (0.5 - 12.5 / 9), 2 + 2 * (3 - 25.0 / 9), -2 + 2 * (-3 + 25.0 / 9)});
}

TEST(Apg, ThresholdShortensTheDifference) {
  const double norm = std::sqrt(0.25 + 9 + 9);
  Values out;
  Apg({.norm_threshold = norm / 2}).combine(kCond, kUncond, 2.0, out);
  expect_values(out, {1.25, 3.5, -3.5});
  Apg({.norm_threshold = norm * 2}).combine(kCond, kUncond, 2.0, out);
  expect_values(out, {1.5, 5.0, -5.0});
  // Smoothed with exponent 1: x / (1 + x) for x = threshold / norm.
  Apg({.norm_threshold = norm, .norm_threshold_smoothing = 1.0}).combine(kCond, kUncond, 2.0, out);
  expect_values(out, {1.25, 3.5, -3.5});
  Apg({.norm_threshold = norm * 3, .norm_threshold_smoothing = 1.0}).combine(kCond, kUncond, 2.0, out);
  expect_values(out, {1 + 0.75 * 0.5, 2 + 0.75 * 3, -2 - 0.75 * 3});
  // Little smoothing is no smoothing, without overflow.
  Apg({.norm_threshold = norm * 2, .norm_threshold_smoothing = 1e-4}).combine(kCond, kUncond, 2.0, out);
  expect_values(out, {1.5, 5.0, -5.0}, 1e-5);
}

TEST(Apg, MomentumRemembersUntilReset) {
  Apg apg({.momentum = -0.5});
  Values first, second, third;
  apg.combine(kCond, kUncond, 2.0, first);
  apg.combine(kCond, kUncond, 2.0, second);  // difference - 0.5 difference
  expect_values(first, {1.5, 5.0, -5.0});
  expect_values(second, {1.25, 3.5, -3.5});
  apg.reset();
  apg.combine(kCond, kUncond, 2.0, third);
  EXPECT_EQ(third, first);
}

TEST(GuidanceSchedule, Parsing) {
  EXPECT_EQ(*parse_guidance_schedule("7x2+3.5x1"), (std::vector<double>{7, 7, 3.5}));
  EXPECT_EQ(*parse_guidance_schedule("0x1"), (std::vector<double>{0}));
  for (const char* text : {"", "7", "x", "7x", "x2", "7x0", "7x-1", "-1x2", "7x1.5", "7x2+", "7x2,3x1", "7x999999999",
                           "7x9999999999999999999", "5000x5000+1x5001", "nanx1"}) {
    const auto scales = parse_guidance_schedule(text);
    ASSERT_FALSE(scales) << text;
    EXPECT_EQ(scales.error().code, ErrorCode::kUsage);
  }
}

TEST(GuidanceSchedule, IsPaddedAndCut) {
  const std::vector<double> listed = {7, 7, 3};
  const GuidanceSchedule longer = fit_guidance_schedule(listed, 5, 6.0);
  EXPECT_EQ(longer.scales, (std::vector<double>{7, 7, 3, 6, 6}));
  EXPECT_EQ(longer.padded, 2);
  EXPECT_EQ(longer.cut, 0);
  const GuidanceSchedule shorter = fit_guidance_schedule(listed, 1, 6.0);
  EXPECT_EQ(shorter.scales, (std::vector<double>{7}));
  EXPECT_EQ(shorter.padded, 0);
  EXPECT_EQ(shorter.cut, 2);
}

}  // namespace
}  // namespace veneer::sample
