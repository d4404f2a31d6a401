// Every sampler against recorded runs of a float64 reference: the state after each step, the level of each model call
// in order, and the number of draws.
#include <gtest/gtest.h>

#include "sample/sampler.h"
#include "tests/golden/sample/fixture.h"
#include "tests/unit/sample/toy_denoiser.h"

namespace veneer::sample {
namespace {

const Json& runs() {
  static const Json kFile = fixture("trajectories.json");
  return kFile.at("runs");
}

class Trajectory : public testing::TestWithParam<size_t> {};

TEST_P(Trajectory, StatesCallsAndDraws) {
  const Json& run = runs().at(GetParam());
  const bool flow = run.at("prediction") == "flow";
  const std::vector<float> sigmas = floats(run.at("sigmas"));
  std::vector<float> x = floats(run.at("x0"));
  const NoiseTable table = flow ? *NoiseTable::flow(3.0) : toy::sd1_table();
  const Sampler* sampler = *sampler_named(run.at("sampler").get<std::string>());
  SCOPED_TRACE(testing::Message() << sampler->name << (flow ? " flow" : "") << " eta " << run.at("eta"));

  toy::Recorder recorder({0.8, 0.3}, flow);
  const Json& noise = run.at("noise");
  recorder.noise_source = [&](std::span<float> out) {
    const std::vector<float> values = floats(noise.at(static_cast<size_t>(recorder.draws - 1)));
    ASSERT_EQ(values.size(), out.size());
    std::copy(values.begin(), values.end(), out.begin());
  };
  ASSERT_TRUE(run_sampler(*sampler, {sigmas, run.at("eta").get<double>(), table}, recorder.hooks(), x));

  EXPECT_EQ(recorder.draws, static_cast<int>(noise.size()));
  const std::vector<double> calls = run.at("model_calls").get<std::vector<double>>();
  ASSERT_EQ(recorder.calls.size(), calls.size());
  for (size_t i = 0; i < calls.size(); ++i)  // levels are float32 here, nine digits there
    EXPECT_NEAR(recorder.calls[i], calls[i], 1e-6 * calls[i]) << "call " << i;
  ASSERT_EQ(recorder.states.size(), run.at("states").size());
  for (size_t step = 0; step < recorder.states.size(); ++step) {
    const std::vector<float> expected = floats(run.at("states").at(step));
    for (size_t i = 0; i < expected.size(); ++i)  // the reference keeps its state in float64, this one rounds each step
      EXPECT_NEAR(recorder.states[step][i], expected[i], 2e-6 * (1 + std::abs(expected[i])))
          << "step " << step << " element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Trajectory, testing::Range(size_t{0}, size_t{37}));

TEST(Trajectories, FixtureIsWhole) { EXPECT_EQ(runs().size(), 37u); }

}  // namespace
}  // namespace veneer::sample
