// Noise tables: other betas, zero terminal SNR, flow and EDM, inverses, refusals.
#include "sample/noise_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/sample/toy_denoiser.h"

namespace veneer::sample {
namespace {

TEST(NoiseTable, LinearBetasOfPixArt) {
  const auto alphas = cumulative_alphas(*betas_named("linear", 0.0001, 0.02));
  const NoiseTable table = *NoiseTable::from_alphas_cumprod(alphas);
  EXPECT_NEAR(table.sigma_max(), 157.41, 0.005);
  EXPECT_NEAR(table.sigma_min(), 0.0100, 0.00005);
}

TEST(NoiseTable, ZeroTerminalSnr) {
  const auto alphas = cumulative_alphas(*betas_named("scaled_linear", 0.00085, 0.012));
  EXPECT_NEAR(alphas.back(), 0.0046601, 5e-8);
  const auto rescaled = rescaled_to_zero_terminal_snr(alphas);
  EXPECT_EQ(rescaled.back(), 0.0);
  EXPECT_NEAR(rescaled.front(), 0.99915, 1e-12);
  const NoiseTable table = *NoiseTable::from_alphas_cumprod(rescaled);
  EXPECT_NEAR(table.sigma_max(), 4518.76, 0.005);
  for (int t = 0; t < kTrainingSteps; ++t) {
    EXPECT_TRUE(std::isfinite(table.sigma(t))) << t;
    EXPECT_NEAR(table.timestep(table.sigma(t)), t, 1e-6);
  }
}

TEST(NoiseTable, InverseAtWholeAndBrokenTimesteps) {
  const NoiseTable tables[] = {toy::sd1_table(), *NoiseTable::flow(3.0), *NoiseTable::flow(1.0),
                               *NoiseTable::flow_exponential(1.15), NoiseTable::edm()};
  for (const NoiseTable& table : tables)
    for (const double t : {0.0, 0.25, 17.0, 333.3, 998.9, 999.0}) EXPECT_NEAR(table.timestep(table.sigma(t)), t, 1e-6);
  EXPECT_EQ(toy::sd1_table().timestep(1e-3), 0.0);
  EXPECT_EQ(toy::sd1_table().timestep(1e3), 999.0);
  EXPECT_EQ(NoiseTable::flow(3.0)->timestep(1e-6), 0.0);
}

TEST(NoiseTable, NearestTimestepIsNearestInSigma) {
  const NoiseTable table = toy::sd1_table();
  const double low = table.sigma(0);
  const double high = table.sigma(1);
  EXPECT_EQ(table.nearest_timestep(0.51 * low + 0.49 * high), 0);
  EXPECT_EQ(table.nearest_timestep(0.49 * low + 0.51 * high), 1);
  EXPECT_EQ(table.nearest_timestep(1e9), 999);
}

TEST(NoiseTable, FlowAndEdmRanges) {
  const NoiseTable flow = *NoiseTable::flow(3.0);
  EXPECT_TRUE(flow.is_flow());
  EXPECT_EQ(flow.sigma_max(), 1.0);
  EXPECT_NEAR(flow.sigma_min(), 0.003 / 1.002, 1e-12);
  EXPECT_NEAR(NoiseTable::flow_exponential(1.15)->sigma(499), std::exp(1.15) / (std::exp(1.15) + 1), 1e-12);
  const NoiseTable edm = NoiseTable::edm();
  EXPECT_FALSE(edm.is_flow());
  EXPECT_EQ(edm.sigma_min(), 0.002);
  EXPECT_EQ(edm.sigma_max(), 120.0);
  EXPECT_NEAR(edm.sigma(250), std::exp(1.0), 1e-12);
}

TEST(NoiseTable, RefusesDamagedTables) {
  std::vector<double> alphas = cumulative_alphas(*betas_named("scaled_linear", 0.00085, 0.012));
  const auto refused = [](std::vector<double> values, const std::string& part) {
    const auto table = NoiseTable::from_alphas_cumprod(values);
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().code, ErrorCode::kBadFile);
    EXPECT_NE(table.error().message.find(part), std::string::npos) << table.error().message;
  };
  refused({}, "expects 1000 values, found 0");
  std::vector<double> bad = alphas;
  bad[500] = bad[499];
  refused(bad, "value 500");
  bad[500] = std::nan("");
  refused(bad, "value 500 is nan");
  bad[500] = 0.0;  // only the last may be 0
  refused(bad, "value 500 is 0");
  bad = alphas;
  bad[0] = 1.0;
  refused(bad, "value 0 is 1");
}

TEST(NoiseTable, RefusesBadSettings) {
  EXPECT_EQ(betas_named("squaredcos_cap_v2", 0.1, 0.2).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(betas_named("linear", 0.2, 0.1).error().code, ErrorCode::kBadFile);
  EXPECT_EQ(betas_named("linear", 0.0, 0.1).error().code, ErrorCode::kBadFile);
  EXPECT_EQ(betas_named("linear", 0.1, 1.0).error().code, ErrorCode::kBadFile);
  for (const double shift : {0.0, -1.0, std::nan(""), HUGE_VAL}) EXPECT_FALSE(NoiseTable::flow(shift)) << shift;
  EXPECT_EQ(NoiseTable::flow_exponential(1e6).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace veneer::sample
