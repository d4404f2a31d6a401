// Names of the C interface's enumerations. Their values are positions in the tables below, which follow veneer.h and
// never change; the names are those of the lists in sample/, which a test compares.
#include <array>
#include <cstring>

#include "core/result.h"
#include "veneer/veneer.h"

namespace {

constexpr std::array kSamplers{
    "euler",         "euler_a",        "heun",    "dpm2",         "dpm++2s_a",      "dpm++2m",
    "dpm++2mv2",     "ipndm",          "ipndm_v", "lcm",          "ddim_trailing",  "tcd",
    "res_multistep", "res_2s",         "er_sde",  "euler_cfg_pp", "euler_a_cfg_pp", "euler_ge",
    "dpm++2m_sde",   "dpm++2m_sde_bt", "lms"};
constexpr std::array kSchedules{"discrete", "karras",       "exponential", "ays",  "sgm_uniform",
                                "simple",   "smoothstep",   "kl_optimal",  "lcm",  "bong_tangent",
                                "ltx2",     "logit_normal", "flux2",       "flux", "beta"};
constexpr std::array kGenerators{"cuda", "cpu"};
constexpr std::array kPredictions{"eps", "v", "edm_v", "sd3_flow", "flux_flow"};
constexpr std::array kStatuses{"ok",        "usage", "not_found",     "bad_file", "mismatch",  "unsupported",
                               "no_memory", "io",    "verify_failed", "busy",     "cancelled", "bug"};

template <size_t N>
const char* name_in(const std::array<const char*, N>& names, int value) {
  return value >= 0 && static_cast<size_t>(value) < N ? names[static_cast<size_t>(value)] : nullptr;
}

template <typename Enum, size_t N>
Enum value_in(const std::array<const char*, N>& names, const char* name, Enum none) {
  for (size_t i = 0; name && i < N; ++i)
    if (std::strcmp(names[i], name) == 0) return static_cast<Enum>(i);
  return none;
}

}  // namespace

extern "C" {

const char* veneer_status_name(veneer_status status) { return name_in(kStatuses, status); }
const char* veneer_sampler_name(veneer_sampler sampler) { return name_in(kSamplers, sampler); }
veneer_sampler veneer_sampler_from_name(const char* name) { return value_in(kSamplers, name, VENEER_SAMPLER_COUNT); }
const char* veneer_schedule_name(veneer_schedule schedule) { return name_in(kSchedules, schedule); }
veneer_schedule veneer_schedule_from_name(const char* name) {
  return value_in(kSchedules, name, VENEER_SCHEDULE_COUNT);
}
const char* veneer_rng_name(veneer_rng rng) { return name_in(kGenerators, rng); }
veneer_rng veneer_rng_from_name(const char* name) { return value_in(kGenerators, name, VENEER_RNG_COUNT); }
const char* veneer_prediction_name(veneer_prediction prediction) { return name_in(kPredictions, prediction); }
veneer_prediction veneer_prediction_from_name(const char* name) {
  return value_in(kPredictions, name, VENEER_PREDICTION_COUNT);
}

}  // extern "C"
