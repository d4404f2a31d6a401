// Schedules: laws that hold for all of them, one-step runs, options, refusals (reference tables: golden/sample).
#include "sample/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/sample/toy_denoiser.h"

namespace veneer::sample {
namespace {

Result<std::vector<float>> sigmas_of(std::string_view name, int steps, const NoiseTable& table,
                                     const ScheduleOptions& options = {}) {
  return make_sigmas(**schedule_named(name), {steps, table, 4096, AysModel::kSd1, options});
}

void expect_usage(const Result<std::vector<float>>& result, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST(Schedule, NamesBothWays) {
  EXPECT_EQ(schedules().size(), 16u);
  for (const Schedule& schedule : schedules()) EXPECT_EQ(*schedule_named(schedule.name), &schedule);
  EXPECT_EQ((*schedule_named("normal"))->name, "discrete");
  EXPECT_EQ(schedule_named("karas").error().code, ErrorCode::kUsage);
}

TEST(Schedule, StrictlyDecreasingToZeroForEveryNumberOfSteps) {
  const NoiseTable tables[] = {toy::sd1_table(), *NoiseTable::flow(3.0), NoiseTable::edm()};
  for (const Schedule& schedule : schedules())
    for (const NoiseTable& table : tables)
      for (int steps = 1; steps <= 50; ++steps) {
        const bool refused = schedule.name == "gits" || (schedule.name == "ays" && table.is_flow());
        const auto sigmas = make_sigmas(schedule, {steps, table, 4096});
        ASSERT_EQ(sigmas.has_value(), !refused) << schedule.name << " " << steps;
        if (refused) continue;
        EXPECT_EQ(sigmas->back(), 0.0f);
        for (size_t i = 0; i + 1 < sigmas->size(); ++i)
          ASSERT_GT((*sigmas)[i], (*sigmas)[i + 1]) << schedule.name << " " << steps << " level " << i;
        if (schedule.name != "beta") {
          EXPECT_EQ(sigmas->size(), static_cast<size_t>(steps) + 1);
        }
        EXPECT_LE(sigmas->front(), schedule.for_flow_only ? 1.0 : table.sigma_max() * (1 + 1e-7));
      }
}

TEST(Schedule, OneStepGoesFromTheTopToZero) {
  const NoiseTable sd1 = toy::sd1_table();
  const NoiseTable flow = *NoiseTable::flow(3.0);
  for (const Schedule& schedule : schedules()) {
    if (schedule.name == "gits") continue;
    const NoiseTable& table = schedule.for_flow_only ? flow : sd1;
    const auto sigmas = make_sigmas(schedule, {1, table, 4096});
    ASSERT_TRUE(sigmas) << schedule.name;
    const double top = schedule.name == "logit_normal" ? 1.0 / (1.0 + std::exp(-9.0)) : table.sigma_max();
    EXPECT_EQ(*sigmas, (std::vector<float>{static_cast<float>(top), 0.0f})) << schedule.name;
  }
  // EDM's range reaches beyond its training timesteps.
  EXPECT_EQ(sigmas_of("discrete", 1, NoiseTable::edm())->front(), 120.0f);
  EXPECT_EQ(sigmas_of("sgm_uniform", 1, NoiseTable::edm())->front(), static_cast<float>(std::exp(999.0 / 250.0)));
}

TEST(Schedule, KarrasOnARangeOfTenToATenth) {
  std::vector<double> alphas(kTrainingSteps);
  for (size_t k = 0; k < alphas.size(); ++k) {
    const double sigma = 0.1 * std::pow(100.0, static_cast<double>(k) / 999.0);
    alphas[k] = 1.0 / (1.0 + sigma * sigma);
  }
  const auto sigmas = sigmas_of("karras", 5, *NoiseTable::from_alphas_cumprod(alphas));
  const double expected[] = {10, 4.070104, 1.450732, 0.432453, 0.1, 0};
  ASSERT_TRUE(sigmas);
  ASSERT_EQ(sigmas->size(), std::size(expected));
  for (size_t i = 0; i < sigmas->size(); ++i) EXPECT_NEAR((*sigmas)[i], expected[i], 2e-6) << i;  // seven digits given
}

TEST(Schedule, RefusesWhatItCannotTellApart) {
  const NoiseTable sd1 = toy::sd1_table();
  for (const Schedule& schedule : schedules()) {
    expect_usage(make_sigmas(schedule, {0, sd1, 4096}), "steps: expects 1 to");
    expect_usage(make_sigmas(schedule, {-3, sd1, 4096}), "found -3");
    expect_usage(make_sigmas(schedule, {std::numeric_limits<int>::max(), sd1, 4096}), "found 2147483647");
  }
  expect_usage(sigmas_of("lcm", 51, sd1), "has 50 levels, 51 steps asked");
  expect_usage(sigmas_of("smoothstep", 100, sd1), "use fewer steps");
  expect_usage(sigmas_of("simple", 1001, sd1), "use fewer steps");
  expect_usage(sigmas_of("ays", 10, *NoiseTable::flow(3.0)), "no levels were published for flow models");
  const auto gits = sigmas_of("gits", 10, sd1);
  ASSERT_FALSE(gits);
  EXPECT_EQ(gits.error().code, ErrorCode::kUnsupported);
}

TEST(Schedule, BetaDropsEqualNeighbours) {
  const auto sigmas = sigmas_of("beta", 300, toy::sd1_table());
  ASSERT_TRUE(sigmas);
  EXPECT_LT(sigmas->size(), 301u);
  EXPECT_GT(sigmas->size(), 200u);
}

TEST(Schedule, OptionsChangeTheLevels) {
  const NoiseTable flow = *NoiseTable::flow(1.0);
  ScheduleOptions options;
  options.alpha = options.beta = 1.0;  // the uniform distribution
  const auto uniform = sigmas_of("beta", 4, flow, options);
  EXPECT_NEAR((*uniform)[2], (std::nearbyint(499.5) + 1) / 1000, 1e-7);
  options = {};
  options.base_shift = options.max_shift = 0.0;
  EXPECT_NEAR((*sigmas_of("flux", 4, flow, options))[1], 0.75, 1e-7);
  options.terminal = 0.25;
  EXPECT_NEAR((*sigmas_of("ltx2", 4, flow, options))[3], 0.25, 1e-7);
  options.stretch = false;
  EXPECT_NEAR((*sigmas_of("ltx2", 10, flow, options))[9], 0.1, 1e-7);
  options = {};
  options.resolution_aware = false;
  EXPECT_NEAR((*sigmas_of("logit_normal", 4, flow, options))[2], 0.5, 1e-7);
  options.mu = 1.0;
  EXPECT_NEAR((*sigmas_of("logit_normal", 4, flow, options))[2], 1 / (1 + std::exp(-1.0)), 1e-7);
  options.mu = 0.0;
  options.logsnr_max = 2.0;
  EXPECT_NEAR((*sigmas_of("logit_normal", 2, flow, options))[0], 1 / (1 + std::exp(-1.0)), 1e-7);
}

TEST(CustomSigmas, AreTakenAsTheyAre) {
  EXPECT_EQ(*custom_sigmas(*parse_sigmas("14.5, 3,0"), false), (std::vector<float>{14.5f, 3.0f, 0.0f}));
  EXPECT_EQ(custom_sigmas(*parse_sigmas("1,0.25"), true)->back(), 0.25f);
}

TEST(CustomSigmas, RefusesWhatCannotBeWalked) {
  for (const char* text : {"", "14,", "a,b", "1;0", "nan,0", "inf,0"}) EXPECT_FALSE(parse_sigmas(text)) << text;
  expect_usage(custom_sigmas(*parse_sigmas("14"), false), "at least two");
  expect_usage(custom_sigmas(*parse_sigmas("14,14,0"), false), "found 14 after 14");
  expect_usage(custom_sigmas(*parse_sigmas("3,14,0"), false), "found 14 after 3");
  expect_usage(custom_sigmas(*parse_sigmas("3,-1"), false), "found -1");
  expect_usage(custom_sigmas(*parse_sigmas("1e300,0"), false), "found 1e+300");
  expect_usage(custom_sigmas(*parse_sigmas("1.5,0"), true), "at most 1");
}

std::vector<float> countdown(int steps) {
  std::vector<float> sigmas;
  for (int i = steps; i >= 0; --i) sigmas.push_back(static_cast<float>(i));
  return sigmas;
}

TEST(ScheduleCut, Strength) {
  const std::vector<float> sigmas = countdown(20);
  EXPECT_EQ(sigmas_for_strength(sigmas, 0.75)->front(), 16.0f);  // 15 + 1 steps
  EXPECT_EQ(sigmas_for_strength(sigmas, 0.0)->size(), 2u);
  EXPECT_EQ(*sigmas_for_strength(sigmas, 1.0), sigmas);
  EXPECT_EQ(sigmas_for_strength(countdown(1), 0.5)->size(), 2u);
  EXPECT_EQ(sigmas_for_strength(countdown(10), 0.7)->front(), 8.0f);
  for (const double strength : {-0.1, 1.1, std::nan("")})
    expect_usage(sigmas_for_strength(sigmas, strength), "strength");
}

TEST(ScheduleCut, StrengthAsNoiseLevel) {
  const std::vector<float> sigmas = {1.0f, 0.8f, 0.5f, 0.2f, 0.0f};
  EXPECT_EQ(*sigmas_from_noise_level(sigmas, 0.6, false), (std::vector<float>{0.5f, 0.2f, 0.0f}));
  EXPECT_EQ(*sigmas_from_noise_level(sigmas, 0.6, true), (std::vector<float>{0.6f, 0.5f, 0.2f, 0.0f}));
  EXPECT_EQ(*sigmas_from_noise_level(sigmas, 0.5, true), (std::vector<float>{0.5f, 0.2f, 0.0f}));
  EXPECT_EQ(*sigmas_from_noise_level(sigmas, 0.1, false), (std::vector<float>{0.2f, 0.0f}));
  EXPECT_EQ(*sigmas_from_noise_level(sigmas, 0.1, true), (std::vector<float>{0.1f, 0.0f}));
  EXPECT_EQ(*sigmas_from_noise_level(sigmas, 1.0, true), sigmas);
  expect_usage(sigmas_from_noise_level(sigmas, 0.0, true), "strength");
}

TEST(ScheduleCut, HiresRunsExactlyItsSteps) {
  for (const int steps : {1, 7, 20})
    for (const double strength : {0.3, 0.55, 0.7, 1.0}) {
      const int whole = *hires_schedule_steps(steps, strength);
      EXPECT_EQ(whole, static_cast<int>(steps / strength));
      EXPECT_EQ(last_steps(countdown(whole), steps).size(), static_cast<size_t>(steps) + 1);
    }
  EXPECT_FALSE(hires_schedule_steps(0, 0.5));
  EXPECT_FALSE(hires_schedule_steps(20, 0.0));
  EXPECT_FALSE(hires_schedule_steps(20, 1.5));
  EXPECT_GT(*hires_schedule_steps(20, 1e-300), 10000);  // make_sigmas refuses it
}

}  // namespace
}  // namespace veneer::sample
