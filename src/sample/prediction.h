// What a network predicts and how that becomes the denoised image D(x, sigma) = c_skip x + c_out F(c_in x, t), in the
// notation of Karras et al. 2022. Knows no network: it gives the factors and the timestep.
#pragma once

#include <span>
#include <string_view>

#include "core/result.h"
#include "sample/noise_table.h"

namespace veneer::sample {

enum class Prediction {
  kEps,       // the noise
  kV,         // velocity of variance-preserving diffusion (Salimans and Ho 2022)
  kEdmV,      // the same, asked at log(sigma) / 4
  kSd3Flow,   // velocity of rectified flow, asked at 1000 sigma
  kFluxFlow,  // the same, asked at sigma
};

std::string_view name_of(Prediction prediction);
// "eps", "v", "edm_v", "sd3_flow", "flux_flow". Errors: usage.
Result<Prediction> prediction_named(std::string_view name);

// Whether x = (1 - sigma) image + sigma noise (flow) rather than image + sigma noise.
bool is_flow(Prediction prediction);

struct Scalings {
  double c_skip = 1, c_out = 1, c_in = 1;
  double timestep = 0;  // in the model's own unit
};

// For sigma > 0. With `timestep_shift` N in 1...1000 an eps or v model is asked at t' = round(t N / 1000), and the
// scalings become those of sigma(t') for a state that was brought there; 0 means no shift. Other models ignore it.
Scalings scalings_at(Prediction prediction, double sigma, const NoiseTable& table, int timestep_shift = 0);

// denoised = c_skip x + c_out output. The spans have one length; `denoised` may be `output`.
void to_denoised(const Scalings& scalings, std::span<const float> x, std::span<const float> output,
                 std::span<float> denoised);

// The state at level `sigma` for a clean latent and standard normal noise: latent + sigma noise, or for flow models
// (1 - sigma) latent + sigma noise. `x` may be either input. Text to image has a latent of zeros.
void add_start_noise(Prediction prediction, double sigma, std::span<const float> latent, std::span<const float> noise,
                     std::span<float> x);

// What the last state is to be divided by when the levels end at sigma_end: 1 - sigma_end for flow models, else 1.
double end_scale(Prediction prediction, double sigma_end);

}  // namespace veneer::sample
