// Resolving a request against a model.
#include "pipeline/resolved.h"

#include <algorithm>
#include <random>

#include "core/format.h"
#include "pipeline/preview.h"

namespace veneer::pipeline {
namespace {

Status resolve_size_and_latent(const Request& request, const model::Model& model, const ModelSettings& settings,
                               int factor, Resolved& out) {
  VENEER_TRY(size, resolve_size(request, settings.native_size, settings.size_rule));
  out.size = size;
  out.latent = {1, size.height / factor, size.width / factor, model.denoiser->latent_channels()};
  if (!request.init_latents) return {};
  const Shape expected{1, out.latent[3], out.latent[1], out.latent[2]};
  if (request.init_latents->shape == expected) return {};
  return Error{ErrorCode::kUsage,
               concat("--init-latents: expected shape ", expected.to_string(), ", found ",
                      request.init_latents->shape.to_string()),
               "--init-latents"};
}

Status resolve_solver(const Request& request, const model::Family& family, const ModelSettings& settings,
                      Resolved& out) {
  out.sampler = request.sampler ? request.sampler : settings.sampler;
  out.schedule = request.schedule;
  if (!out.schedule && !out.sampler->default_schedule.empty()) {
    VENEER_TRY(own, sample::schedule_named(out.sampler->default_schedule));
    out.schedule = own;
  }
  if (!out.schedule) out.schedule = settings.schedule;
  if (out.schedule->for_flow_only && !sample::is_flow(settings.prediction))
    out.warnings.push_back(
        concat("--scheduler ", out.schedule->name, ": is made for flow models, which this one is not"));
  if (request.flow_shift && sample::is_flow(settings.prediction)) {
    VENEER_TRY(shifted, flow_table(family, *request.flow_shift));
    out.shifted_table = std::move(shifted);
  }
  if (request.flow_shift && !sample::is_flow(settings.prediction))
    out.warnings.push_back("--flow-shift: has no effect on this model, which is no flow model");
  out.eta = request.eta.value_or(out.sampler->default_eta);
  if (const std::string warning = sample::eta_warning(*out.sampler, out.eta); !warning.empty())
    out.warnings.push_back(warning);
  return {};
}

Status resolve_sigmas(const Request& request, const model::Family& family, const ModelSettings& settings,
                      Resolved& out) {
  out.steps = request.steps;
  if (!request.sigmas.empty()) {
    VENEER_TRY(custom, sample::custom_sigmas(request.sigmas, sample::is_flow(settings.prediction)));
    out.sigmas = std::move(custom);
    out.steps = static_cast<int>(out.sigmas.size()) - 1;
    if (out.steps != request.steps)
      out.warnings.push_back(concat("--sigmas: ", out.steps, " steps are run, --steps is not used"));
  } else {
    constexpr int64_t kPatchSide = 2;  // of what one token of a transformer covers, in latent pixels
    const int64_t tokens = std::max<int64_t>((out.latent[1] / kPatchSide) * (out.latent[2] / kPatchSide), 1);
    const auto ays = family.sampling.sdxl_steps ? sample::AysModel::kSdxl : sample::AysModel::kSd1;
    sample::ScheduleOptions options = out.extra.schedule;
    if (!options.base_shift) options.base_shift = settings.base_shift;
    if (!options.max_shift) options.max_shift = settings.max_shift;
    VENEER_TRY(made, sample::make_sigmas(*out.schedule,
                                         {request.steps, table_of(out, settings), tokens, ays, std::move(options)}));
    out.sigmas = std::move(made);
  }
  if (!out.starts_from_picture) return {};
  VENEER_TRY(cut, out.extra.strength_as_noise_level
                      ? sample::sigmas_from_noise_level(out.sigmas, request.strength, out.extra.force_first_sigma)
                      : sample::sigmas_for_strength(out.sigmas, request.strength));
  out.sigmas = std::move(cut);
  return {};
}

void resolve_guidance(const Request& request, const model::Model& model, Resolved& out) {
  constexpr double kPictureScale = 1.5;  // as the edit models were published
  const int steps = static_cast<int>(out.sigmas.size()) - 1;
  out.cfg_scale = request.cfg_scale.value_or(model.denoiser->takes_guidance() ? 1.0 : kCfgScale);
  const sample::GuidanceSchedule fitted =
      sample::fit_guidance_schedule(out.extra.guidance_schedule, steps, out.cfg_scale);
  if (!out.extra.guidance_schedule.empty() && fitted.padded > 0)
    out.warnings.push_back(concat("guidance_schedule: ", fitted.padded, " steps are missing and take --cfg-scale"));
  if (fitted.cut > 0) out.warnings.push_back(concat("guidance_schedule: ", fitted.cut, " steps too many are left out"));
  if (out.cfg_scale == 0) out.warnings.push_back("--cfg-scale 0: the prompt has no effect");
  const bool edits = out.picture_input == PictureInput::kEdit;
  if (request.image_cfg_scale && !edits)
    out.warnings.push_back("--img-cfg-scale: has no effect on this model, which does not edit pictures");
  if (request.guidance && !model.denoiser->takes_guidance())
    out.warnings.push_back("--guidance: has no effect on this model, which has no guidance input");
  out.guidance.scales = fitted.scales;
  if (edits) out.guidance.image_scale = request.image_cfg_scale.value_or(kPictureScale);
  out.guidance.embedded = request.guidance.value_or(model.family->sampling.guidance);
  out.guidance.rescale = request.cfg_rescale;
  out.guidance.apg = out.extra.apg;
  out.guidance.keep_uncond = out.sampler->needs_uncond;
  const double image_scale = out.guidance.image_scale.value_or(1.0);
  out.needs_uncond =
      out.sampler->needs_uncond || std::any_of(fitted.scales.begin(), fitted.scales.end(),
                                               [&](double scale) { return sample::needs_uncond(scale, image_scale); });
}

// An encoder must have a layer left.
Status check_clip_skip(const Request& request, const model::Model& model) {
  if (request.clip_skip <= 0) return {};
  for (const model::TextUse& use : model.text_plan().uses) {
    const model::TextEncoder* encoder = model.text_encoder(use.part);
    if (!encoder || use.kind != model::TextKind::kClip) continue;
    if (model::layers_left_out(use, *encoder, request.clip_skip) < encoder->depth()) continue;
    const int64_t missing = 1 - model::layers_left_out(use, *encoder, 2);
    return Error{ErrorCode::kUsage,
                 concat("--clip-skip: must be at most ", encoder->depth() + missing, " for this model, found ",
                        request.clip_skip),
                 "--clip-skip"};
  }
  return {};
}

}  // namespace

const sample::NoiseTable& table_of(const Resolved& resolved, const ModelSettings& settings) {
  return resolved.shifted_table ? *resolved.shifted_table : settings.table;
}

Result<Resolved> resolve(const Request& request, const model::Model& model, const ModelSettings& settings, int factor) {
  VENEER_TRY_STATUS(validate(request));
  Resolved out;
  out.seed_drawn = request.seed < 0;
  out.seed = out.seed_drawn ? static_cast<int64_t>(std::random_device{}() & 0x7FFFFFFFu) : request.seed;
  VENEER_TRY(extra, sample::parse_extra_args(request.extra_sample_args));
  out.extra = std::move(extra);
  for (const std::string& key : out.extra.unknown)
    out.warnings.push_back(concat("--extra-sample-args: nothing reads \"", key, "\""));
  VENEER_TRY_STATUS(resolve_size_and_latent(request, model, settings, factor, out));
  VENEER_TRY_STATUS(check_clip_skip(request, model));
  if (request.t5_length > 0 && !model.text_encoder(io::Part::kTextEncoder3))
    out.warnings.push_back("--t5-length: has no effect: no T5 encoder is there");
  out.picture_input = picture_input_of(*model.denoiser);
  out.starts_from_picture = request.init_image && out.picture_input != PictureInput::kEdit;
  if (out.picture_input == PictureInput::kEdit && !request.init_image)
    return Error{ErrorCode::kUsage, "--init-img: this model edits a picture; give one", "--init-img"};
  if (out.picture_input == PictureInput::kEdit && request.mask)
    out.warnings.push_back("--mask: has no effect on this model, which edits whole pictures");
  VENEER_TRY_STATUS(check_preview(request.preview, model));
  VENEER_TRY_STATUS(resolve_solver(request, *model.family, settings, out));
  VENEER_TRY_STATUS(resolve_sigmas(request, *model.family, settings, out));
  resolve_guidance(request, model, out);
  return out;
}

}  // namespace veneer::pipeline
