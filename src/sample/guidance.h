// How predictions with and without a prompt are combined. Everything works on the raw output of the network, before it
// becomes a denoised image, for one image at a time; all spans of a call have one length, and `out` may be any of the
// inputs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::sample {

// Whether the unconditional pass is needed for plain guidance: not at a scale of 1 without image guidance.
bool needs_uncond(double cfg, double image_cfg);

// Ho and Salimans 2022: uncond + cfg (cond - uncond).
void combine_guidance(std::span<const float> cond, std::span<const float> uncond, double cfg, std::span<float> out);

// Brooks et al. 2023 (InstructPix2Pix), with `uncond` seeing the picture only and `image_uncond` neither picture nor
// prompt: image_uncond + image_cfg (uncond - image_uncond) + cfg (cond - uncond).
void combine_image_guidance(std::span<const float> cond, std::span<const float> uncond,
                            std::span<const float> image_uncond, double cfg, double image_cfg, std::span<float> out);

// Lin et al. 2024, section 3.4: brings the deviation of `guided` back toward that of `cond`; 0 changes nothing, 1 all
// the way.
void rescale_guidance(std::span<const float> cond, double rescale, std::span<float> guided);

// Values of --extra-sample-args for adaptive projected guidance. The defaults make it plain guidance.
struct ApgOptions {
  double eta = 1.0;                       // weight of the part of the difference that is parallel to cond
  double momentum = 0.0;                  // weight of the differences before, usually negative
  double norm_threshold = 0.0;            // the difference is shortened to this length; 0 = off
  double norm_threshold_smoothing = 0.0;  // softens the corner of that limit; 0 = sharp
  bool active() const { return eta != 1.0 || momentum != 0.0 || norm_threshold > 0.0; }
};

// Sadat et al. 2024 (arXiv 2410.02416). Owns the running difference of one image's run.
class Apg {
 public:
  explicit Apg(const ApgOptions& options) : options_(options) {}
  void reset() { running_.clear(); }
  // cond + (cfg - 1) (orthogonal part + eta parallel part of the difference cond - uncond).
  void combine(std::span<const float> cond, std::span<const float> uncond, double cfg, std::span<float> out);

 private:
  ApgOptions options_;
  std::vector<double> running_;
};

// "7x10+3x10": a scale of 7 for ten steps, then 3 for ten. One value per step. Errors: usage.
Result<std::vector<double>> parse_guidance_schedule(std::string_view text);

// The list made as long as the run: `cfg` for the steps that are missing, what is too much cut off.
struct GuidanceSchedule {
  std::vector<double> scales;  // one per step
  int padded = 0, cut = 0;     // for the log; at most one of them is not 0
};
GuidanceSchedule fit_guidance_schedule(std::span<const double> listed, int steps, double cfg);

}  // namespace veneer::sample
