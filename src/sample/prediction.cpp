// Prediction types: names, scalings, start of a trajectory.
#include "sample/prediction.h"

#include <algorithm>
#include <cmath>

#include "sample/names.h"

namespace veneer::sample {
namespace {

struct Row {
  std::string_view name;
  Prediction prediction;
};
constexpr Row kPredictions[] = {{"eps", Prediction::kEps},
                                {"v", Prediction::kV},
                                {"edm_v", Prediction::kEdmV},
                                {"sd3_flow", Prediction::kSd3Flow},
                                {"flux_flow", Prediction::kFluxFlow}};

double c_in_at(double sigma) { return 1.0 / std::sqrt(sigma * sigma + 1.0); }

Scalings variance_preserving(Prediction prediction, double sigma) {
  const double c_in = c_in_at(sigma);
  if (prediction == Prediction::kEps) return {1.0, -sigma, c_in, 0.0};
  return {c_in * c_in, -sigma * c_in, c_in, 0.0};
}

}  // namespace

std::string_view name_of(Prediction prediction) {
  for (const Row& row : kPredictions)
    if (row.prediction == prediction) return row.name;
  return "?";
}

Result<Prediction> prediction_named(std::string_view name) {
  VENEER_TRY(row, row_named<Row>(kPredictions, "prediction", name));
  return row->prediction;
}

bool is_flow(Prediction prediction) {
  return prediction == Prediction::kSd3Flow || prediction == Prediction::kFluxFlow;
}

Scalings scalings_at(Prediction prediction, double sigma, const NoiseTable& table, int timestep_shift) {
  if (is_flow(prediction)) {
    const double unit = prediction == Prediction::kSd3Flow ? kTrainingSteps : 1.0;
    return {1.0, -sigma, 1.0, unit * sigma};
  }
  Scalings scalings = variance_preserving(prediction, sigma);
  if (prediction == Prediction::kEdmV) {
    scalings.timestep = 0.25 * std::log(sigma);
    return scalings;
  }
  scalings.timestep = table.timestep(sigma);
  if (timestep_shift == 0) return scalings;
  const double asked =
      std::clamp(std::round(scalings.timestep * timestep_shift / kTrainingSteps), 0.0, kTrainingSteps - 1.0);
  const Scalings shifted = variance_preserving(prediction, table.sigma(asked));
  return {shifted.c_skip * scalings.c_in / shifted.c_in, shifted.c_out, scalings.c_in, asked};
}

void to_denoised(const Scalings& scalings, std::span<const float> x, std::span<const float> output,
                 std::span<float> denoised) {
  VENEER_CHECK(x.size() == output.size() && x.size() == denoised.size());
  const float c_skip = static_cast<float>(scalings.c_skip);
  const float c_out = static_cast<float>(scalings.c_out);
  for (size_t i = 0; i < x.size(); ++i) denoised[i] = c_skip * x[i] + c_out * output[i];
}

void add_start_noise(Prediction prediction, double sigma, std::span<const float> latent, std::span<const float> noise,
                     std::span<float> x) {
  VENEER_CHECK(latent.size() == noise.size() && latent.size() == x.size());
  const float keep = static_cast<float>(is_flow(prediction) ? 1.0 - sigma : 1.0);
  const float add = static_cast<float>(sigma);
  for (size_t i = 0; i < x.size(); ++i) x[i] = keep * latent[i] + add * noise[i];
}

double end_scale(Prediction prediction, double sigma_end) { return is_flow(prediction) ? 1.0 - sigma_end : 1.0; }

}  // namespace veneer::sample
