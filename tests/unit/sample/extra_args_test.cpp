// The parser of extra sampling arguments.
#include "sample/extra_args.h"

#include <gtest/gtest.h>

namespace veneer::sample {
namespace {

TEST(ExtraArgs, EmptyGivesDefaults) {
  for (const char* text : {"", "  "}) {
    const auto args = parse_extra_args(text);
    ASSERT_TRUE(args);
    EXPECT_EQ(args->sampler.gamma, 2.0);
    EXPECT_EQ(args->sampler.lms_max_order, 4);
    EXPECT_FALSE(args->schedule.base_shift.has_value());
    EXPECT_FALSE(args->apg.active());
    EXPECT_TRUE(args->guidance_schedule.empty());
    EXPECT_TRUE(args->unknown.empty());
  }
}

TEST(ExtraArgs, EveryKeyReachesItsField) {
  const auto args = parse_extra_args(
      "gamma=1.5, noise_scale_start=0.9,noise_scale_end=0.8,noise_clip_std=2.5,lms_max_order=3,alpha=0.5,beta=0.7,"
      "base_shift=-1,max_shift=2,stretch=false,terminal=0.2,mu=0.3,std=1.1,logsnr_min=-10,logsnr_max=+12,"
      "resolution_aware=0,apg_eta=0.4,apg_momentum=-0.5,apg_norm_threshold=15,apg_norm_threshold_smoothing=0.6,"
      "slg_uncond=1,strength_as_noise_level=true,force_first_sigma = 1 ,guidance_schedule=7x2+3x1");
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->sampler.gamma, 1.5);
  EXPECT_EQ(args->sampler.noise_scale_start, 0.9);
  EXPECT_EQ(args->sampler.noise_scale_end, 0.8);
  EXPECT_EQ(args->sampler.noise_clip_std, 2.5);
  EXPECT_EQ(args->sampler.lms_max_order, 3);
  EXPECT_EQ(args->schedule.alpha, 0.5);
  EXPECT_EQ(args->schedule.beta, 0.7);
  EXPECT_EQ(args->schedule.base_shift, -1.0);
  EXPECT_EQ(args->schedule.max_shift, 2.0);
  EXPECT_FALSE(args->schedule.stretch);
  EXPECT_EQ(args->schedule.terminal, 0.2);
  EXPECT_EQ(args->schedule.mu, 0.3);
  EXPECT_EQ(args->schedule.std, 1.1);
  EXPECT_EQ(args->schedule.logsnr_min, -10.0);
  EXPECT_EQ(args->schedule.logsnr_max, 12.0);
  EXPECT_FALSE(args->schedule.resolution_aware);
  EXPECT_EQ(args->apg.eta, 0.4);
  EXPECT_EQ(args->apg.momentum, -0.5);
  EXPECT_EQ(args->apg.norm_threshold, 15.0);
  EXPECT_EQ(args->apg.norm_threshold_smoothing, 0.6);
  EXPECT_TRUE(args->slg_uncond);
  EXPECT_TRUE(args->strength_as_noise_level);
  EXPECT_TRUE(args->force_first_sigma);
  EXPECT_EQ(args->guidance_schedule, (std::vector<double>{7, 7, 3}));
  EXPECT_TRUE(args->unknown.empty());
}

TEST(ExtraArgs, UnknownKeysAreListedInOrder) {
  const auto args = parse_extra_args("zeta=1,gamma=1,lms_shift=x");
  ASSERT_TRUE(args);
  EXPECT_EQ(args->unknown, (std::vector<std::string>{"zeta", "lms_shift"}));
  EXPECT_EQ(args->sampler.gamma, 1.0);
}

TEST(ExtraArgs, RefusalsNameTheKeyAndWhatIsExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"gamma", "expects key=value pairs joined by commas, found \"gamma\""},
      {"=1", "expects key=value pairs"},
      {"gamma=1,", "found \"\""},
      {"gamma=1,gamma=2", "gamma is given twice"},
      {"gamma=", "gamma expects a number, found \"\""},
      {"gamma=1e999", "gamma expects a number"},
      {"gamma=nan", "gamma expects a number"},
      {"alpha=0", "alpha expects a number above 0, found \"0\""},
      {"terminal=1", "terminal expects a number above 0 and below 1"},
      {"noise_clip_std=-1", "noise_clip_std expects a number of at least 0"},
      {"lms_max_order=2.5", "lms_max_order expects a whole number of at least 1 and at most 4"},
      {"lms_max_order=5", "at most 4, found \"5\""},
      {"stretch=yes", "stretch expects true, false, 1 or 0"},
      {"stretch=0.5", "stretch expects"},
      {"guidance_schedule=7", "guidance_schedule: expects scale x steps"},
  };
  for (const auto& [text, part] : cases) {
    const auto args = parse_extra_args(text);
    ASSERT_FALSE(args) << text;
    EXPECT_EQ(args.error().code, ErrorCode::kUsage);
    EXPECT_NE(args.error().message.find(part), std::string::npos) << args.error().message;
  }
}

}  // namespace
}  // namespace veneer::sample
