// The list of samplers.
#include "sample/sampler.h"

#include <cmath>

#include "core/format.h"
#include "sample/names.h"
#include "sample/sampler_steps.h"

namespace veneer::sample {
namespace {

using Keep = Sampler::Keep;

constexpr Sampler kSamplers[] = {
    {.name = "euler", .step = euler_step},
    {.name = "euler_a", .step = euler_ancestral_step, .default_eta = 1.0},
    {.name = "heun", .step = heun_step},
    {.name = "dpm2", .step = dpm2_step},
    {.name = "dpm++2s_a", .step = dpmpp_2s_ancestral_step, .default_eta = 1.0},
    {.name = "dpm++2m", .step = dpmpp_2m_step, .keep = Keep::kDenoised, .history = 2},
    {.name = "dpm++2mv2", .step = dpmpp_2m_v2_step, .keep = Keep::kDenoised, .history = 2},
    {.name = "ipndm", .step = ipndm_step, .keep = Keep::kDirection, .history = 4},
    {.name = "ipndm_v", .step = ipndm_v_step, .keep = Keep::kDirection, .history = 4},
    {.name = "lcm", .step = lcm_step, .default_schedule = "lcm"},
    {.name = "ddim_trailing", .step = euler_ancestral_step, .default_schedule = "simple"},
    {.name = "tcd", .step = tcd_step, .default_schedule = "lcm"},
    {.name = "res_multistep", .step = res_multistep_step, .keep = Keep::kDenoised, .history = 2},
    {.name = "res_2s", .step = res_2s_step},
    {.name = "er_sde", .step = er_sde_step, .default_eta = 1.0, .keep = Keep::kDenoised, .history = 3},
    {.name = "euler_cfg_pp", .step = euler_cfg_pp_step, .needs_uncond = true},
    {.name = "euler_a_cfg_pp", .step = euler_ancestral_cfg_pp_step, .default_eta = 1.0, .needs_uncond = true},
    {.name = "euler_ge", .step = euler_gradient_estimation_step, .keep = Keep::kDirection, .history = 2},
    {.name = "dpm++2m_sde", .step = dpmpp_2m_sde_step, .default_eta = 1.0, .keep = Keep::kDenoised, .history = 2},
    {.name = "dpm++2m_sde_bt",
     .step = dpmpp_2m_sde_step,
     .default_eta = 1.0,
     .keep = Keep::kDenoised,
     .history = 2,
     .brownian = true},
    {.name = "lms", .step = lms_step, .keep = Keep::kDirection, .history = 4},
};

}  // namespace

std::span<const Sampler> samplers() { return kSamplers; }

Result<const Sampler*> sampler_named(std::string_view name) {
  return row_named<Sampler>(kSamplers, "sampling method", name);
}

std::string eta_warning(const Sampler& sampler, double eta) {
  if (sampler.step != er_sde_step || eta == 1.0) return {};
  return concat("er_sde: eta ", eta, " shrinks the variance of the picture; the method is made for eta 1");
}

Status run_sampler(const Sampler& sampler, const SamplerInput& input, const SamplerHooks& hooks, std::span<float> x) {
  VENEER_CHECK(input.sigmas.size() >= 2 && hooks.denoise && hooks.noise);
  if (!(input.eta >= 0.0 && std::isfinite(input.eta)))
    return Error{ErrorCode::kUsage, concat("eta: expects 0 or more, found ", input.eta), "eta"};
  return SamplerRun(sampler, input, hooks, x).walk();
}

}  // namespace veneer::sample
