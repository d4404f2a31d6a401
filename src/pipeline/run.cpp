// A run: everything is resolved and checked first, then the phases follow each other.
#include "pipeline/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "core/format.h"
#include "pipeline/guided_denoiser.h"
#include "pipeline/parameters.h"
#include "pipeline/pixels.h"
#include "pipeline/preview.h"
#include "pipeline/vision.h"

namespace veneer::pipeline {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Draws come in (C, H, W) order, whatever the layout of the state.
void draw_noise(sample::Generator& generator, const Shape& latent, std::span<float> out, std::vector<float>& scratch) {
  const int64_t pixels = latent[1] * latent[2], channels = latent[3];
  scratch.resize(out.size());
  generator.normal(scratch);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t p = 0; p < pixels; ++p)
      out[static_cast<size_t>(p * channels + c)] = scratch[static_cast<size_t>(c * pixels + p)];
}

class Run {
 public:
  Run(Session::State& state, const Request& request, const Callbacks& callbacks, const CancelFlag& cancel)
      : state_(state), request_(request), callbacks_(callbacks), cancel_(cancel) {}

  Result<RunResult> carry_out();

 private:
  Status resolve();
  Status resolve_sigmas();
  void resolve_guidance();
  Status check_weights() const;
  Status encode_text();
  Status prepare_picture();
  Result<Picture> make_picture(int index);
  std::vector<float> start_state(sample::Generator& generator, std::vector<float>& scratch) const;
  Result<io::Image> decode(const Tensor& latents);
  Status after_step(GuidedDenoiser& denoiser, const sample::StepReport& report, Clock::time_point& last);
  Status show_preview(const sample::StepReport& report);
  Parameters parameters(int64_t seed) const;
  io::ImageText image_text(int64_t seed) const;

  void warn(const std::string& line) {
    state_.log.warn(line);
    result_.report.warnings.push_back(line);
  }
  void progress(Phase phase, int step, int steps, double seconds) const {
    if (callbacks_.progress) callbacks_.progress(phase, step, steps, seconds);
  }
  Status check_cancel() const {
    if (cancel_.get() == CancelMode::kAll) return Error{ErrorCode::kCancelled, "cancelled", ""};
    return {};
  }
  TileProgress tile_progress(Phase phase) const {
    return [this, phase](int done, int of) -> Status {
      VENEER_TRY_STATUS(check_cancel());
      progress(phase, done, of, 0);
      return {};
    };
  }
  int factor() const { return static_cast<int>(state_.decoder().factor()); }

  Session::State& state_;
  const Request& request_;
  const Callbacks& callbacks_;
  const CancelFlag& cancel_;
  RunResult result_;

  int64_t seed_ = 0;
  Size size_;
  Shape latent_;  // [1, height, width, channels]
  sample::ExtraArgs extra_;
  const sample::Sampler* sampler_ = nullptr;
  const sample::Schedule* schedule_ = nullptr;
  std::vector<float> sigmas_;
  double eta_ = 0;
  Guidance guidance_;
  bool needs_uncond_ = false;
  int64_t skip_ = 0;
  TokenizedPrompts prompts_;
  Conditioning conditioning_;
  io::Image original_picture_;
  Tensor picture_mask_;
  std::vector<float> original_;  // the given picture's latent, or empty
  std::optional<Protection> protection_;
};

Status Run::resolve() {
  VENEER_TRY_STATUS(validate(request_));
  VENEER_TRY(size, resolve_size(request_, state_.settings.native_size, state_.settings.size_rule));
  size_ = size;
  if (request_.init_image && !request_.width && !request_.height)
    state_.log.info(concat("size taken from the given picture: ", size.width, "x", size.height));
  latent_ = {1, size.height / factor(), size.width / factor(), state_.model.denoiser->latent_channels()};
  seed_ = request_.seed;
  if (seed_ < 0) {
    seed_ = static_cast<int64_t>(std::random_device{}() & 0x7FFFFFFFu);
    state_.log.info(concat("seed: ", seed_));
  }
  VENEER_TRY(extra, sample::parse_extra_args(request_.extra_sample_args));
  extra_ = std::move(extra);
  for (const std::string& key : extra_.unknown) warn(concat("--extra-sample-args: nothing reads \"", key, "\""));
  if (request_.cfg_scale == 0) warn("--cfg-scale 0: the prompt has no effect");

  const int64_t depth = state_.model.text_encoder->depth();
  const int clip_skip = request_.clip_skip > 0 ? request_.clip_skip : state_.model.family->clip_skip;
  if (clip_skip > depth)
    return Error{ErrorCode::kUsage,
                 concat("--clip-skip: must be at most ", depth, " for this model, found ", clip_skip), "--clip-skip"};
  skip_ = clip_skip - 1;

  if (request_.init_latents) {
    const Shape expected{1, latent_[3], latent_[1], latent_[2]};
    if (!(request_.init_latents->shape == expected))
      return Error{ErrorCode::kUsage,
                   concat("--init-latents: expected shape ", expected.to_string(), ", found ",
                          request_.init_latents->shape.to_string()),
                   "--init-latents"};
  }
  VENEER_TRY_STATUS(check_preview(request_.preview, state_.model));
  VENEER_TRY_STATUS(resolve_sigmas());
  resolve_guidance();
  return {};
}

Status Run::resolve_sigmas() {
  sampler_ = request_.sampler ? request_.sampler : state_.settings.sampler;
  schedule_ = request_.schedule;
  if (!schedule_ && !sampler_->default_schedule.empty()) {
    VENEER_TRY(own, sample::schedule_named(sampler_->default_schedule));
    schedule_ = own;
  }
  if (!schedule_) schedule_ = state_.settings.schedule;
  eta_ = request_.eta.value_or(sampler_->default_eta);
  if (const std::string warning = sample::eta_warning(*sampler_, eta_); !warning.empty()) warn(warning);

  const bool flow = sample::is_flow(state_.settings.prediction);
  if (!request_.sigmas.empty()) {
    VENEER_TRY(custom, sample::custom_sigmas(request_.sigmas, flow));
    sigmas_ = std::move(custom);
    if (static_cast<int>(sigmas_.size()) - 1 != request_.steps)
      warn(concat("--sigmas: ", sigmas_.size() - 1, " steps are run, --steps is not used"));
  } else {
    const int64_t tokens = std::max<int64_t>(int64_t{size_.width} / 16 * (size_.height / 16), 1);
    VENEER_TRY(made, sample::make_sigmas(*schedule_, {request_.steps, state_.settings.table, tokens,
                                                      sample::AysModel::kSd1, extra_.schedule}));
    sigmas_ = std::move(made);
  }
  if (!request_.init_image) return {};
  VENEER_TRY(cut, extra_.strength_as_noise_level
                      ? sample::sigmas_from_noise_level(sigmas_, request_.strength, extra_.force_first_sigma)
                      : sample::sigmas_for_strength(sigmas_, request_.strength));
  sigmas_ = std::move(cut);
  return {};
}

void Run::resolve_guidance() {
  const int steps = static_cast<int>(sigmas_.size()) - 1;
  const sample::GuidanceSchedule fitted =
      sample::fit_guidance_schedule(extra_.guidance_schedule, steps, request_.cfg_scale);
  if (!extra_.guidance_schedule.empty() && fitted.padded > 0)
    warn(concat("guidance_schedule: ", fitted.padded, " steps are missing and take --cfg-scale"));
  if (fitted.cut > 0) warn(concat("guidance_schedule: ", fitted.cut, " steps too many are left out"));
  guidance_ = {fitted.scales, request_.cfg_rescale, extra_.apg, sampler_->needs_uncond};
  needs_uncond_ = sampler_->needs_uncond || std::any_of(fitted.scales.begin(), fitted.scales.end(),
                                                        [](double s) { return sample::needs_uncond(s, 1.0); });
}

// A file that was cut since it was mapped would stop the process at its first missing page.
Status Run::check_weights() const {
  for (const auto& [part, content] : state_.files.parts) VENEER_TRY_STATUS(content.weights.still_whole());
  return {};
}

Status Run::encode_text() {
  progress(Phase::kText, 0, 1, 0);
  state_.text_place.run([&](nn::Context& context) {
    conditioning_ = encode_prompts(context, *state_.model.text_encoder, prompts_, skip_, needs_uncond_);
  });
  if (first_non_finite(conditioning_.states.values()) >= 0) {
    const std::string weight = find_broken_weight(*state_.model.text_encoder);
    return Error{ErrorCode::kBadFile,
                 concat("text encoder: the result has values that are not finite",
                        weight.empty() ? std::string() : ", as has its tensor " + weight),
                 weight.empty() ? "text_encoder" : weight};
  }
  state_.log.info(concat("prompt: ", prompts_.prompt_tokens, " tokens, negative ", prompts_.negative_tokens, ", ",
                         conditioning_.chunks, conditioning_.chunks == 1 ? " chunk of 77" : " chunks of 77"));
  progress(Phase::kText, 1, 1, 0);
  return {};
}

// The given picture at the size of the run, its mask and its latent.
Status Run::prepare_picture() {
  if (!request_.init_image) return {};
  const model::Autoencoder* encoder =
      state_.model.vae && state_.model.vae->can_encode() ? state_.model.vae.get() : nullptr;
  Workplace* place = &state_.vae_place;
  if (!encoder && state_.model.tiny_vae && state_.model.tiny_vae->can_encode()) {
    encoder = state_.model.tiny_vae.get();
    place = &state_.tiny_place;
  }
  if (!encoder)
    return Error{ErrorCode::kUsage, "--init-img: the model's autoencoder has no encoder; give a whole one with --vae",
                 "--init-img"};
  original_picture_ = io::crop_and_resize(io::with_channels(*request_.init_image, 3), size_.width, size_.height);
  VENEER_TRY(encoded, encode_picture(*encoder, *place, tensor_from_image(original_picture_), request_.tiling,
                                     tile_progress(Phase::kEncode)));

  // The posterior is drawn before the generators are seeded for each picture.
  original_.assign(encoded.mean.values().begin(), encoded.mean.values().end());
  if (encoded.deviation) {
    const auto generator = sample::make_generator(request_.rng, static_cast<uint64_t>(seed_));
    std::vector<float> noise(original_.size()), scratch;
    draw_noise(*generator, latent_, noise, scratch);
    for (size_t i = 0; i < noise.size(); ++i) original_[i] += encoded.deviation->values()[i] * noise[i];
  }
  if (!request_.mask) return {};
  const io::Image& given = *request_.mask;
  if (given.width != size_.width || given.height != size_.height)
    state_.log.info(
        concat("mask: scaled from ", given.width, "x", given.height, " to ", size_.width, "x", size_.height));
  picture_mask_ = mask_from_image(io::crop_and_resize(io::with_channels(given, 1), size_.width, size_.height));
  const Tensor cells = reduce_mask(picture_mask_, factor());
  Protection protection{{}, original_};
  for (const float cell : cells.values())
    protection.mask.insert(protection.mask.end(), static_cast<size_t>(latent_[3]), cell);
  protection_ = std::move(protection);
  return {};
}

std::vector<float> Run::start_state(sample::Generator& generator, std::vector<float>& scratch) const {
  const auto count = static_cast<size_t>(latent_.elements());
  std::vector<float> noise(count), x(count);
  draw_noise(generator, latent_, noise, scratch);  // also when it is not used: later draws must not depend on that
  if (request_.init_latents) {
    const Tensor given = nchw_to_nhwc(*request_.init_latents);
    std::copy_n(given.f32(), count, noise.begin());
  }
  const std::vector<float> zeros(count);
  sample::add_start_noise(state_.settings.prediction, sigmas_.front(), original_.empty() ? zeros : original_, noise, x);
  return x;
}

Status Run::show_preview(const sample::StepReport& report) {
  const std::span<const float> values = request_.preview_noisy ? report.x : report.denoised;
  if (request_.preview == PreviewMode::kNone || !callbacks_.preview || report.step == 0 || values.empty() ||
      report.step % request_.preview_interval != 0)
    return {};
  VENEER_TRY(image, preview_image(request_.preview, state_.model, state_.tiny_place, state_.vae_place,
                                  Tensor::from(values, latent_)));
  callbacks_.preview(report.step, image, request_.preview_noisy);
  return {};
}

Status Run::after_step(GuidedDenoiser& denoiser, const sample::StepReport& report, Clock::time_point& last) {
  denoiser.set_step(report.step);
  progress(Phase::kSample, report.step, report.steps, report.step == 0 ? 0 : seconds_since(last));
  VENEER_TRY_STATUS(show_preview(report));
  last = Clock::now();
  return {};
}

Result<io::Image> Run::decode(const Tensor& latents) {
  // Panels of the denoiser make room for a large decoder; the next picture decodes them again.
  if (state_.denoiser_place.cached_bytes() + result_.report.plan.value("decode_activations", uint64_t{0}) >
      state_.cache_bytes)
    state_.denoiser_place.drop_panels();
  VENEER_TRY(decoded, decode_latents(state_.decoder(), state_.decoder_place(), latents, request_.tiling,
                                     tile_progress(Phase::kDecode)));
  io::Image image = image_from_tensor(decoded);
  return picture_mask_.empty() ? image : keep_unmasked(image, original_picture_, picture_mask_);
}

Result<Picture> Run::make_picture(int index) {
  const int64_t seed = seed_ + index;
  state_.log.info(concat("generating image: ", index + 1, "/", request_.batch_count, " - seed ", seed));
  const auto start = Clock::now();
  const auto generator = sample::make_generator(request_.rng, static_cast<uint64_t>(seed));
  // The sampler's own generator only when it is of another kind; else its draws follow the start noise.
  const bool own = request_.sampler_rng && *request_.sampler_rng != request_.rng;
  const auto sampler_generator =
      own ? sample::make_generator(*request_.sampler_rng, static_cast<uint64_t>(seed)) : nullptr;
  sample::Generator& later = own ? *sampler_generator : *generator;

  std::vector<float> scratch;
  std::vector<float> x = start_state(*generator, scratch);
  GuidedDenoiser denoiser(*state_.model.denoiser, state_.denoiser_place, state_.settings, conditioning_, guidance_,
                          protection_, latent_[1], latent_[2]);
  auto last = Clock::now();
  sample::SamplerHooks hooks;
  hooks.denoise = [&](std::span<const float> state, double sigma) { return denoiser.denoise(state, sigma); };
  hooks.noise = [&](std::span<float> out) { draw_noise(later, latent_, out, scratch); };
  hooks.after_step = [&](const sample::StepReport& report) { return after_step(denoiser, report, last); };
  hooks.check_cancel = [&] { return check_cancel(); };
  const Status sampled =
      sample::run_sampler(*sampler_, {sigmas_, eta_, state_.settings.table, extra_.sampler}, hooks, x);
  state_.denoiser_place.finish();
  VENEER_TRY_STATUS(sampled);
  const auto scale = static_cast<float>(sample::end_scale(state_.settings.prediction, sigmas_.back()));
  for (float& value : x) value /= scale;
  const double sampling = seconds_since(start);
  state_.log.info(concat("sampling completed, taking ", sampling, "s"));

  const auto decode_start = Clock::now();
  const Tensor latents = Tensor::from(x, latent_);
  VENEER_TRY(image, decode(latents));
  Json& seconds = result_.report.seconds;
  seconds["sample"] = seconds.value("sample", 0.0) + sampling;
  seconds["decode"] = seconds.value("decode", 0.0) + seconds_since(decode_start);
  return Picture{std::move(image), seed, index, nhwc_to_nchw(latents), image_text(seed)};
}

Parameters Run::parameters(int64_t seed) const {
  Parameters p;
  p.prompt = request_.prompt;
  p.negative_prompt = request_.negative_prompt;
  p.steps = static_cast<int>(request_.sigmas.empty() ? request_.steps : static_cast<int>(request_.sigmas.size()) - 1);
  p.cfg_scale = request_.cfg_scale;
  p.eta = eta_;
  p.seed = seed;
  p.width = size_.width;
  p.height = size_.height;
  p.sampler = sampler_->name;
  p.schedule = request_.sigmas.empty() ? std::string(schedule_->name) : "custom";
  p.sigmas = request_.sigmas;
  p.rng = name_of(request_.rng);
  p.sampler_rng = name_of(request_.sampler_rng.value_or(request_.rng));
  p.prediction = name_of(state_.settings.prediction);
  p.clip_skip = request_.clip_skip > 0 ? request_.clip_skip : 0;
  p.model = state_.files.name;
  p.vae = base_name(state_.options.paths.vae);
  p.tiny_vae = state_.options.tiny_vae_preview_only ? std::string() : base_name(state_.options.paths.tiny_vae);
  if (request_.init_image) p.strength = request_.strength;
  p.compute = "f32";
  return p;
}

io::ImageText Run::image_text(int64_t seed) const {
  const Parameters all = parameters(seed);
  return {parameters_text(all), parameters_json(all).dump()};
}

Result<RunResult> Run::carry_out() {
  const auto start = Clock::now();
  VENEER_TRY_STATUS(check_cancel());
  VENEER_TRY_STATUS(resolve());
  VENEER_TRY_STATUS(check_weights());
  VENEER_TRY(prompts, tokenize(state_.tokenizer, request_.prompt, request_.negative_prompt));
  prompts_ = std::move(prompts);
  const auto tokens = static_cast<int64_t>(prompts_.prompt.size() * prompts_.prompt.front().size());
  VENEER_TRY(plan, make_plan(state_.files, state_.model, state_.decoder(), request_, size_, needs_uncond_ ? 2 : 1,
                             tokens, state_.cache_bytes));
  result_.report.plan = plan.to_json();
  VENEER_TRY_STATUS(encode_text());
  result_.report.seconds["text"] = seconds_since(start);
  const auto encode_start = Clock::now();
  VENEER_TRY_STATUS(prepare_picture());
  if (request_.init_image) result_.report.seconds["encode"] = seconds_since(encode_start);
  for (int index = 0; index < request_.batch_count; ++index) {
    if (index > 0 && cancel_.get() == CancelMode::kNewPictures) break;
    VENEER_TRY_STATUS(check_cancel());
    VENEER_TRY(picture, make_picture(index));
    if (callbacks_.finished) VENEER_TRY_STATUS(callbacks_.finished(picture));
    result_.pictures.push_back(std::move(picture));
  }
  result_.report.seconds["total"] = seconds_since(start);
  return std::move(result_);
}

}  // namespace

Result<RunResult> run(Session::State& state, const Request& request, const Callbacks& callbacks,
                      const CancelFlag& cancel) {
  return Run(state, request, callbacks, cancel).carry_out();
}

}  // namespace veneer::pipeline
