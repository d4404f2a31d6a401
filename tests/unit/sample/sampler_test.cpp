// Samplers: what holds for all of them (calls, draws, progress, cancelling, determinism); the numbers of single steps
// are in golden/sample, orders of convergence in convergence_test.cpp.
#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sample/schedule.h"
#include "tests/unit/sample/toy_denoiser.h"

namespace veneer::sample {
namespace {

constexpr int kSteps = 6;

struct Trial {
  explicit Trial(bool flow)
      : table(flow ? *NoiseTable::flow(3.0) : toy::sd1_table()),
        sigmas(*make_sigmas(**schedule_named("discrete"), {kSteps, table, 1024})),
        recorder({0.8, 0.3}, flow) {}

  Status run(const Sampler& sampler, double eta, uint64_t seed = 3) {
    const auto generator = make_generator(GeneratorKind::kCuda, seed);
    x.resize(32);
    generator->normal(x);
    for (float& value : x) value *= sigmas.front();
    recorder.noise_source = [&](std::span<float> out) { generator->normal(out); };
    return run_sampler(sampler, {sigmas, eta, table, options}, recorder.hooks(), x);
  }

  NoiseTable table;
  std::vector<float> sigmas;
  toy::Recorder recorder;
  SamplerOptions options;
  std::vector<float> x;
};

bool calls_twice(std::string_view name) {
  return name == "heun" || name == "dpm2" || name == "dpm++2s_a" || name == "res_2s";
}

class EverySampler : public testing::TestWithParam<std::tuple<size_t, bool>> {
 protected:
  const Sampler& sampler() const { return samplers()[std::get<0>(GetParam())]; }
  bool flow() const { return std::get<1>(GetParam()); }
};

TEST_P(EverySampler, CallsTheModelAtDecreasingLevelsAndReportsEachStepOnce) {
  Trial trial(flow());
  ASSERT_TRUE(trial.run(sampler(), sampler().default_eta));
  const size_t calls = trial.recorder.calls.size();
  const size_t saved = flow() && sampler().name == "dpm++2s_a" ? 1 : 0;  // the half step from pure noise
  EXPECT_EQ(calls, calls_twice(sampler().name) ? 2u * kSteps - 1 - saved : size_t{kSteps});
  ASSERT_EQ(trial.recorder.reports.size(), size_t{kSteps} + 1);
  for (int step = 0; step <= kSteps; ++step) {
    const StepReport& report = trial.recorder.reports[static_cast<size_t>(step)];
    EXPECT_EQ(report.step, step);
    EXPECT_EQ(report.steps, kSteps);
    EXPECT_EQ(report.sigma, trial.sigmas[static_cast<size_t>(step)]);
    EXPECT_EQ(report.denoised.empty(), step == 0);
  }
  for (const float value : trial.x) EXPECT_LT(std::abs(value), 10.0f);  // false for NaN too
}

TEST_P(EverySampler, SameSeedSameBytesOtherSeedOthers) {
  Trial first(flow()), again(flow()), other(flow());
  ASSERT_TRUE(first.run(sampler(), sampler().default_eta, 3));
  ASSERT_TRUE(again.run(sampler(), sampler().default_eta, 3));
  ASSERT_TRUE(other.run(sampler(), sampler().default_eta, 4));
  EXPECT_EQ(first.recorder.states, again.recorder.states);
  EXPECT_NE(first.x, other.x);
}

TEST_P(EverySampler, WithoutEtaTheGeneratorDoesNotAdvance) {
  Trial trial(flow());
  ASSERT_TRUE(trial.run(sampler(), 0.0));
  EXPECT_EQ(trial.recorder.draws, sampler().name == "lcm" ? kSteps - 1 : 0);  // lcm has no eta: it always renoises
}

TEST_P(EverySampler, StopsAtTheNextModelCallWhenCancelled) {
  for (int allowed = 0; allowed < 4; ++allowed) {
    Trial trial(flow());
    SamplerHooks hooks = trial.recorder.hooks();
    trial.recorder.noise_source = [](std::span<float> out) { std::fill(out.begin(), out.end(), 0.5f); };
    hooks.check_cancel = [&]() -> Status {
      if (static_cast<int>(trial.recorder.calls.size()) < allowed) return {};
      return Error{ErrorCode::kCancelled, "run: cancelled", ""};
    };
    trial.x.assign(8, 1.0f);
    const Status status = run_sampler(sampler(), {trial.sigmas, 1.0, trial.table}, hooks, trial.x);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(static_cast<int>(trial.recorder.calls.size()), allowed);
  }
}

TEST_P(EverySampler, PassesErrorsOfTheModelOn) {
  Trial trial(flow());
  SamplerHooks hooks = trial.recorder.hooks();
  hooks.denoise = [](std::span<const float>, double) -> Result<Denoised> {
    return Error{ErrorCode::kNoMemory, "denoiser: out of memory", ""};
  };
  trial.x.assign(8, 1.0f);
  const Status status = run_sampler(sampler(), {trial.sigmas, 0.0, trial.table}, hooks, trial.x);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNoMemory);
}

TEST_P(EverySampler, LargeEtaAndOneStepStayFinite) {
  for (const double eta : {1.0, 1.5, 20.0}) {
    Trial trial(flow());
    ASSERT_TRUE(trial.run(sampler(), eta));
    for (const float value : trial.x) ASSERT_TRUE(std::isfinite(value)) << "eta " << eta;
    Trial single(flow());
    single.sigmas = {single.sigmas.front(), 0.0f};
    ASSERT_TRUE(single.run(sampler(), eta));
    EXPECT_EQ(single.recorder.draws, 0);
    for (const float value : single.x) ASSERT_TRUE(std::isfinite(value)) << "eta " << eta;
  }
}

TEST_P(EverySampler, LevelsMayEndAboveZero) {
  Trial trial(flow());
  trial.sigmas.pop_back();
  ASSERT_TRUE(trial.run(sampler(), sampler().default_eta));
  for (const float value : trial.x) ASSERT_TRUE(std::isfinite(value));
  EXPECT_EQ(trial.recorder.reports.back().sigma, trial.sigmas.back());
}

INSTANTIATE_TEST_SUITE_P(All, EverySampler, testing::Combine(testing::Range(size_t{0}, size_t{21}), testing::Bool()),
                         [](const auto& instance) {
                           std::string name(samplers()[std::get<0>(instance.param)].name);
                           for (char& c : name)
                             if (c == '+') c = 'p';
                           return name + (std::get<1>(instance.param) ? "_flow" : "_ve");
                         });

TEST(Samplers, NamesDefaultsAndNeeds) {
  EXPECT_EQ(samplers().size(), 21u);
  for (const Sampler& sampler : samplers()) {
    EXPECT_EQ(*sampler_named(sampler.name), &sampler);
    const std::string_view name = sampler.name;
    const bool ancestral = name == "euler_a" || name == "dpm++2s_a" || name == "dpm++2m_sde" ||
                           name == "dpm++2m_sde_bt" || name == "er_sde" || name == "euler_a_cfg_pp";
    EXPECT_EQ(sampler.default_eta, ancestral ? 1.0 : 0.0) << name;
    EXPECT_EQ(sampler.needs_uncond, name == "euler_cfg_pp" || name == "euler_a_cfg_pp") << name;
    const bool consistency = name == "lcm" || name == "tcd";
    EXPECT_EQ(sampler.default_schedule, consistency ? "lcm" : name == "ddim_trailing" ? "simple" : "") << name;
  }
  const auto unknown = sampler_named("dpm++2");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
}

TEST(Samplers, EtaIsChecked) {
  for (const double eta : {-0.1, std::nan(""), HUGE_VAL}) {
    Trial trial(false);
    const Status status = trial.run(**sampler_named("euler_a"), eta);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  }
  EXPECT_TRUE(eta_warning(**sampler_named("er_sde"), 1.0).empty());
  EXPECT_FALSE(eta_warning(**sampler_named("er_sde"), 0.5).empty());
  EXPECT_TRUE(eta_warning(**sampler_named("euler_a"), 0.5).empty());
}

TEST(Samplers, NoMoreNoiseThanTheNextLevelHolds) {
  Trial trial(false);
  std::vector<float> zeros(1);
  SamplerHooks hooks = trial.recorder.hooks();
  hooks.denoise = [&](std::span<const float>, double) -> Result<Denoised> { return Denoised{zeros, {}}; };
  trial.recorder.noise_source = [](std::span<float> out) { out[0] = 1.0f; };
  const std::vector<float> sigmas = {8, 4, 0};
  std::vector<float> x = {8.0f};
  ASSERT_TRUE(run_sampler(**sampler_named("euler_a"), {sigmas, 50.0, trial.table}, hooks, x));
  EXPECT_EQ(trial.recorder.states[0][0], 4.0f);
}

TEST(Samplers, TcdTakesAtMostAnEtaOfOne) {
  std::vector<std::vector<float>> ends;
  for (const double eta : {1.0, 1.5}) {
    Trial trial(false);
    trial.table = NoiseTable::edm();
    ASSERT_TRUE(trial.run(**sampler_named("tcd"), eta));
    ends.push_back(trial.x);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

// The ratio of noise to image is unbounded near level 1 of a flow model; levels there count as one.
TEST(Samplers, FlowLevelsNextToPureNoise) {
  for (const char* name : {"er_sde", "dpm++2m_sde", "dpm++2s_a", "res_multistep"}) {
    Trial trial(true);
    trial.sigmas = {1.0f, 0.99998f, 0.99995f, 0.7f, 0.4f, 0.0f};
    ASSERT_TRUE(trial.run(**sampler_named(name), 1.0));
    for (const float value : trial.x) EXPECT_LT(std::abs(value), 10.0f) << name;
  }
}

TEST(Samplers, EveryStepChangesTheState) {  // no two equal levels, no division by n - 1
  Trial trial(false);
  ASSERT_TRUE(trial.run(**sampler_named("euler"), 0.0));
  for (size_t i = 0; i + 1 < trial.recorder.states.size(); ++i)
    EXPECT_NE(trial.recorder.states[i], trial.recorder.states[i + 1]);
}

// Same path under another number of steps: with a denoiser that always answers 0 and levels shared by both runs, the
// tree's noise at the shared levels is the same.
TEST(Samplers, BrownianNoiseDoesNotDependOnTheNumberOfSteps) {
  const Sampler& sampler = **sampler_named("dpm++2m_sde_bt");
  std::vector<int> draws;
  std::vector<float> noise_of_last;
  for (const std::vector<float>& sigmas : {std::vector<float>{10, 2, 1}, std::vector<float>{10, 6, 3, 2, 1}}) {
    Trial trial(false);
    trial.sigmas = sigmas;
    std::vector<float> zeros(32);
    SamplerHooks hooks = trial.recorder.hooks();
    hooks.denoise = [&](std::span<const float>, double) -> Result<Denoised> { return Denoised{zeros, {}}; };
    const auto generator = make_generator(GeneratorKind::kCpu, 5);
    trial.recorder.noise_source = [&](std::span<float> out) { generator->normal(out); };
    std::vector<float> x(32);
    ASSERT_TRUE(run_sampler(sampler, {sigmas, 1.0, trial.table}, hooks, x));
    // x after the last step = (1/2)^2 of the x before + noise.
    const std::vector<float>& before = trial.recorder.states[trial.recorder.states.size() - 2];
    for (size_t i = 0; i < x.size(); ++i) x[i] -= before[i] / 4;
    if (noise_of_last.empty()) noise_of_last = x;
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], noise_of_last[i], 1e-6);
    EXPECT_EQ(trial.recorder.draws, 2);
  }
}

TEST(Samplers, LcmScalesAndClipsItsNoise) {
  const Sampler& sampler = **sampler_named("lcm");
  std::vector<float> zeros(1);
  std::vector<float> noise_added;
  Trial trial(false);
  SamplerHooks hooks = trial.recorder.hooks();
  hooks.denoise = [&](std::span<const float>, double) -> Result<Denoised> { return Denoised{zeros, {}}; };
  trial.recorder.noise_source = [](std::span<float> out) { out[0] = -4.0f; };
  SamplerOptions options;
  options.noise_scale_start = 1.0;
  options.noise_scale_end = 0.5;
  options.noise_clip_std = 3.0;
  const std::vector<float> sigmas = {8, 4, 2, 0};
  std::vector<float> x = {8.0f};
  ASSERT_TRUE(run_sampler(sampler, {sigmas, 0.0, trial.table, options}, hooks, x));
  EXPECT_EQ(trial.recorder.states[0][0], 4.0f * -3.0f);
  EXPECT_EQ(trial.recorder.states[1][0], 2.0f * -3.0f * 0.75f);
  EXPECT_EQ(trial.recorder.states[2][0], 0.0f);
}

TEST(Samplers, OptionsOfGradientEstimationAndLms) {
  Trial plain(false), gamma(false), euler(false), lms1(false);
  gamma.options.gamma = 1.0;
  lms1.options.lms_max_order = 1;
  ASSERT_TRUE(plain.run(**sampler_named("euler_ge"), 0.0));
  ASSERT_TRUE(gamma.run(**sampler_named("euler_ge"), 0.0));
  ASSERT_TRUE(lms1.run(**sampler_named("lms"), 0.0));
  ASSERT_TRUE(euler.run(**sampler_named("euler"), 0.0));
  EXPECT_NE(plain.x, euler.x);
  for (size_t i = 0; i < euler.x.size(); ++i) {  // both are Euler then; the order of rounding differs
    EXPECT_NEAR(gamma.x[i], euler.x[i], 1e-5);
    EXPECT_NEAR(lms1.x[i], euler.x[i], 1e-5);
  }
}

// Image b of a batch: its own generator with seed + b. What the other images draw in between changes nothing.
TEST(Samplers, ABatchEqualsItsSingleImages) {
  const Sampler& sampler = **sampler_named("euler_a");
  std::vector<std::vector<float>> singles;
  for (uint64_t b = 0; b < 3; ++b) {
    Trial trial(false);
    ASSERT_TRUE(trial.run(sampler, 1.0, 40 + b));
    singles.push_back(trial.x);
  }
  const auto generator = make_generator(GeneratorKind::kCuda, 0);
  for (uint64_t b = 0; b < 3; ++b) {
    Trial trial(false);
    generator->reseed(40 + b);
    trial.x.resize(32);
    generator->normal(trial.x);
    for (float& value : trial.x) value *= trial.sigmas.front();
    trial.recorder.noise_source = [&](std::span<float> out) { generator->normal(out); };
    ASSERT_TRUE(run_sampler(sampler, {trial.sigmas, 1.0, trial.table}, trial.recorder.hooks(), trial.x));
    EXPECT_EQ(trial.x, singles[b]);
  }
}

}  // namespace
}  // namespace veneer::sample
