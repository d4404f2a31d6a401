// One function per solver: the step from run.sigma to run.next. D is run.denoised(), d = (x - D) / sigma, D2 and d2 are
// from a second model call. Private to the list of samplers.
#pragma once

#include "sample/sampler_run.h"

namespace veneer::sample {

// Euler kind (sampler_euler.cpp).
Status euler_step(SamplerRun& run);
Status euler_ancestral_step(SamplerRun& run);
Status heun_step(SamplerRun& run);
Status dpm2_step(SamplerRun& run);
Status euler_cfg_pp_step(SamplerRun& run);
Status euler_ancestral_cfg_pp_step(SamplerRun& run);
Status euler_gradient_estimation_step(SamplerRun& run);

// DPM-Solver++ kind (sampler_dpmpp.cpp).
Status dpmpp_2s_ancestral_step(SamplerRun& run);
Status dpmpp_2m_step(SamplerRun& run);
Status dpmpp_2m_v2_step(SamplerRun& run);
Status dpmpp_2m_sde_step(SamplerRun& run);

// Linear multistep kind (sampler_multistep.cpp).
Status ipndm_step(SamplerRun& run);
Status ipndm_v_step(SamplerRun& run);
Status lms_step(SamplerRun& run);

// Exponential integrators (sampler_exponential.cpp).
Status res_multistep_step(SamplerRun& run);
Status res_2s_step(SamplerRun& run);
Status er_sde_step(SamplerRun& run);

// Consistency models (sampler_consistency.cpp).
Status lcm_step(SamplerRun& run);
Status tcd_step(SamplerRun& run);

}  // namespace veneer::sample
