// The value of --extra-sample-args, "k=v,k=v": rarely used settings of solvers, schedules and guidance under the names
// other programs know them by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "sample/guidance.h"
#include "sample/sampler.h"
#include "sample/schedule.h"

namespace veneer::sample {

struct ExtraArgs {
  SamplerOptions sampler;
  ScheduleOptions schedule;
  ApgOptions apg;
  std::vector<double> guidance_schedule;  // one scale per step, as listed; empty: none given
  bool slg_uncond = false;                // skip-layer guidance acts on the unconditional pass too
  bool strength_as_noise_level = false;   // image to image: see sigmas_from_noise_level
  bool force_first_sigma = false;
  std::vector<std::string> unknown;  // keys nobody reads, in order; the caller warns
};

// Blanks around keys and values do not matter; an empty text gives the defaults. Errors: usage (no "=", a key given
// twice, a value that is no number or out of range).
Result<ExtraArgs> parse_extra_args(std::string_view text);

}  // namespace veneer::sample
