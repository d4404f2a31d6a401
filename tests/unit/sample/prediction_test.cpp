// Predictions: for an image and a noise, what a perfect network would answer must come back as the image.
#include "sample/prediction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/sample/toy_denoiser.h"

namespace veneer::sample {
namespace {

constexpr Prediction kAll[] = {Prediction::kEps, Prediction::kV, Prediction::kEdmV, Prediction::kSd3Flow,
                               Prediction::kFluxFlow};

// The target each prediction type is trained on, at the variance-preserving angle of sigma.
double perfect_output(Prediction prediction, double image, double noise, double sigma) {
  const double c = 1.0 / std::sqrt(1.0 + sigma * sigma);
  if (prediction == Prediction::kEps) return noise;
  if (is_flow(prediction)) return noise - image;
  return c * noise - sigma * c * image;
}

TEST(Prediction, PerfectNetworkGivesTheImage) {
  const float image = 0.7f;
  const float noise = -1.3f;
  const NoiseTable sd1 = toy::sd1_table();
  for (const Prediction prediction : kAll)
    for (const double sigma : {0.03, 0.4, 0.95}) {
      float x = 0;
      add_start_noise(prediction, sigma, {&image, 1}, {&noise, 1}, {&x, 1});
      const auto output = static_cast<float>(perfect_output(prediction, image, noise, sigma));
      float denoised = 0;
      to_denoised(scalings_at(prediction, sigma, sd1), {&x, 1}, {&output, 1}, {&denoised, 1});
      EXPECT_NEAR(denoised, image, 1e-6) << name_of(prediction) << " " << sigma;
    }
}

TEST(Prediction, InputScaleAndTimestep) {
  const NoiseTable sd1 = toy::sd1_table();
  const double sigma = sd1.sigma(333.5);
  EXPECT_NEAR(scalings_at(Prediction::kEps, sigma, sd1).timestep, 333.5, 1e-9);
  EXPECT_NEAR(scalings_at(Prediction::kV, sigma, sd1).timestep, 333.5, 1e-9);
  EXPECT_NEAR(scalings_at(Prediction::kEdmV, sigma, NoiseTable::edm()).timestep, 0.25 * std::log(sigma), 1e-12);
  const NoiseTable flow = *NoiseTable::flow(3.0);
  EXPECT_EQ(scalings_at(Prediction::kSd3Flow, 0.25, flow).timestep, 250.0);
  EXPECT_EQ(scalings_at(Prediction::kFluxFlow, 0.25, flow).timestep, 0.25);
  EXPECT_EQ(scalings_at(Prediction::kFluxFlow, 0.25, flow).c_in, 1.0);
  for (const Prediction prediction : {Prediction::kEps, Prediction::kV, Prediction::kEdmV})
    EXPECT_NEAR(scalings_at(prediction, sigma, sd1).c_in, 1.0 / std::sqrt(1.0 + sigma * sigma), 1e-12);
}

// With a shift the network sees c_in x as a state of level sigma(t'), so its answer means the same as there.
TEST(Prediction, TimestepShift) {
  const NoiseTable sd1 = toy::sd1_table();
  const double sigma = sd1.sigma(900);
  for (const Prediction prediction : {Prediction::kEps, Prediction::kV}) {
    const Scalings plain = scalings_at(prediction, sigma, sd1);
    const Scalings shifted = scalings_at(prediction, sigma, sd1, 250);
    EXPECT_EQ(shifted.timestep, 225.0);
    EXPECT_EQ(shifted.c_in, plain.c_in);
    const Scalings there = scalings_at(prediction, sd1.sigma(225), sd1);
    const double x = 3.0;
    const double x_there = x * plain.c_in / there.c_in;  // the state of that level with the same network input
    const double output = 0.4;
    EXPECT_NEAR(shifted.c_skip * x + shifted.c_out * output, there.c_skip * x_there + there.c_out * output, 1e-12);
    EXPECT_EQ(scalings_at(prediction, sigma, sd1, 1000).timestep, 900.0);
  }
  EXPECT_EQ(scalings_at(Prediction::kSd3Flow, 0.5, *NoiseTable::flow(3.0), 250).timestep, 500.0);
}

TEST(Prediction, StartAndEnd) {
  const float latent[] = {0.0f, 2.0f};
  const float noise[] = {1.0f, 1.0f};
  float x[2];
  add_start_noise(Prediction::kEps, 14.0, latent, noise, x);
  EXPECT_EQ(x[0], 14.0f);  // not sqrt(1 + 14^2)
  EXPECT_EQ(x[1], 16.0f);
  add_start_noise(Prediction::kSd3Flow, 0.75, latent, noise, x);
  EXPECT_EQ(x[0], 0.75f);
  EXPECT_EQ(x[1], 1.25f);
  EXPECT_EQ(end_scale(Prediction::kFluxFlow, 0.2), 0.8);
  EXPECT_EQ(end_scale(Prediction::kV, 0.2), 1.0);
}

TEST(Prediction, NamesBothWays) {
  for (const Prediction prediction : kAll) EXPECT_EQ(*prediction_named(name_of(prediction)), prediction);
  EXPECT_EQ(name_of(Prediction::kEdmV), "edm_v");
  const auto unknown = prediction_named("edmv");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.error().message.find("did you mean edm_v?"), std::string::npos);
}

}  // namespace
}  // namespace veneer::sample
