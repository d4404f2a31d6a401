// Noise tables and schedules against float64 reference tables.
#include <gtest/gtest.h>

#include "sample/schedule.h"
#include "tests/golden/sample/fixture.h"
#include "tests/unit/sample/toy_denoiser.h"

namespace veneer::sample {
namespace {

// Two roundings to float32 (the table and the level) of at most 6e-8 each, and nine digits in the file.
constexpr double kTolerance = 1.3e-7;

void expect_levels(std::span<const float> found, const Json& expected, const std::string& name) {
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (size_t i = 0; i < found.size(); ++i) {
    const double value = expected.at(i).get<double>();
    EXPECT_NEAR(found[i], value, kTolerance * value) << name << " level " << i;
  }
}

// "ays_sdxl" is the schedule ays with other timesteps.
void expect_schedule(std::string name, int steps, const NoiseTable& table, int64_t tokens, const Json& expected) {
  ScheduleInput input{steps, table, tokens};
  const std::string label = name + " " + std::to_string(steps) + " tokens " + std::to_string(tokens);
  if (name == "ays_sdxl") {
    name = "ays";
    input.ays_model = AysModel::kSdxl;
  }
  const Result<std::vector<float>> sigmas = make_sigmas(**schedule_named(name), input);
  ASSERT_TRUE(sigmas) << sigmas.error().message;
  expect_levels(*sigmas, expected, label);
}

TEST(Sd1Tables, EverySchedule) {
  const Json file = fixture("sigmas_sd1.json");
  const NoiseTable table = toy::sd1_table();
  int compared = 0;
  for (const auto& [name, by_steps] : file.at("schedules").items()) {
    for (const auto& [steps, expected] : by_steps.items()) {
      expect_schedule(name, std::stoi(steps), table, 1024, expected);
      ++compared;
    }
    expect_schedule(name, 1, table, 1024, file.at("single_step").at(name));
  }
  EXPECT_EQ(compared, 12 * 3);
}

TEST(Sd1Tables, TimestepsAndAlphas) {
  const Json file = fixture("sigmas_sd1.json");
  const NoiseTable table = toy::sd1_table();
  const Json& model = file.at("model");
  EXPECT_NEAR(table.sigma_min(), model.at("sigma_min").get<double>(), 1e-8);
  EXPECT_NEAR(table.sigma_max(), model.at("sigma_max").get<double>(), 1e-6);
  for (const auto& [t, alpha] : model.at("alphas_cumprod").items())
    EXPECT_NEAR(table.alpha_cumprod(std::stoi(t)), alpha.get<double>(), kTolerance * alpha.get<double>()) << t;
  for (const Json& pair : file.at("t_to_sigma"))
    EXPECT_NEAR(table.sigma(pair[0].get<double>()), pair[1].get<double>(), kTolerance * pair[1].get<double>());
  // The distance of two levels is 2e-3 of a level at least, so 6e-8 of it is 3e-5 timesteps.
  for (const Json& pair : file.at("sigma_to_t"))
    EXPECT_NEAR(table.timestep(pair[0].get<double>()), pair[1].get<double>(), 5e-5) << pair;
}

TEST(FlowTables, ShiftedModels) {
  const Json file = fixture("sigmas_flow.json");
  const NoiseTable shifted = *NoiseTable::flow(3.0);
  const NoiseTable exponential = *NoiseTable::flow_exponential(1.15);
  int compared = 0;
  for (const auto& [key, table] : {std::pair{"sd3_shift3", &shifted}, std::pair{"exp_shift_1.15", &exponential}})
    for (const auto& [steps, by_name] : file.at(key).items())
      for (const auto& [name, expected] : by_name.items()) {
        expect_schedule(name, std::stoi(steps), *table, 4096, expected);
        ++compared;
      }
  EXPECT_EQ(compared, 3 * 5 + 3 * 2);
}

TEST(FlowTables, SchedulesByTokens) {
  const Json file = fixture("sigmas_flow.json");
  const NoiseTable table = *NoiseTable::flow(1.0);
  int compared = 0;
  for (const char* name : {"flux", "flux2", "ltx2", "logit_normal"})
    for (const auto& [key, expected] : file.at(name).items()) {  // "20_tokens4096"
      int steps = 0;
      int tokens = 0;
      ASSERT_EQ(std::sscanf(key.c_str(), "%d_tokens%d", &steps, &tokens), 2) << key;
      expect_schedule(name, steps, table, tokens, expected);
      ++compared;
    }
  EXPECT_EQ(compared, 4 * 9);
}

}  // namespace
}  // namespace veneer::sample
