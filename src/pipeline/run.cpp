// A run: everything is resolved and checked first, then the phases follow each other.
#include "pipeline/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/format.h"
#include "pipeline/embeddings.h"
#include "pipeline/guided_denoiser.h"
#include "pipeline/parameters.h"
#include "pipeline/pixels.h"
#include "pipeline/preview.h"
#include "pipeline/resolved.h"
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
  Status check_weights() const;
  Status attach_adapters();
  Status read_prompts();
  Status encode_text();
  Status prepare_given_picture();
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

  Resolved resolved_;
  Plan plan_;
  TokenizedPrompts prompts_;
  Conditioning conditioning_;
  PreparedPicture given_;
};

// A file that was cut since it was mapped would stop the process at its first missing page.
Status Run::check_weights() const {
  for (const auto& [part, content] : state_.files.parts) VENEER_TRY_STATUS(content.weights.still_whole());
  return {};
}

Status Run::attach_adapters() {
  const auto start = Clock::now();
  VENEER_TRY(outcome, state_.adapters.stack_for(request_.adapters));
  result_.report.stack = outcome.stack;
  result_.report.warnings.insert(result_.report.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
  state_.lay(outcome.stack);
  if (outcome.stack) result_.report.seconds["adapters"] = seconds_since(start);
  return {};
}

// Behind the adapters, which may bring words of their own.
Status Run::read_prompts() {
  VENEER_TRY(prompts, parse_prompts(request_.prompt, request_.negative_prompt));
  WordSources sources{state_.options.embedding_dir, state_.options.paths.mode, {}};
  if (result_.report.stack) sources.bundled = result_.report.stack->embeddings;
  VENEER_TRY(found, find_words(prompts, sources, state_.model));
  for (const std::string& line : found.lines) state_.log.info(line);
  for (const std::string& warning : found.warnings) warn(warning);
  VENEER_TRY(tokenized, tokenize(state_.model, state_.tokenizers, prompts, found.tokens, request_.t5_length));
  prompts_ = std::move(tokenized);
  return {};
}

Status Run::encode_text() {
  progress(Phase::kText, 0, 1, 0);
  const bool blank = request_.negative_prompt.empty() && state_.model.family->sampling.zeros_for_blank &&
                     state_.settings.prediction != sample::Prediction::kEdmV;
  VENEER_TRY(conditioning, encode_prompts(state_.model, state_.text_places, prompts_,
                                          {request_.clip_skip, resolved_.size.height, resolved_.size.width,
                                           resolved_.needs_uncond, blank}));
  conditioning_ = std::move(conditioning);
  // The denoiser runs for long, and does not need them.
  for (const auto& [part, encoder] : state_.model.text_encoders) state_.files.parts.at(part).weights.release();
  state_.log.info(prompts_.line());
  progress(Phase::kText, 1, 1, 0);
  return {};
}

// The given picture at the size of the run, its mask and its latent.
Status Run::prepare_given_picture() {
  if (request_.mask && (request_.mask->width != resolved_.size.width || request_.mask->height != resolved_.size.height))
    state_.log.info(concat("mask: scaled from ", request_.mask->width, "x", request_.mask->height, " to ",
                           resolved_.size.width, "x", resolved_.size.height));
  const auto draw = [this](std::span<float> noise) {
    std::vector<float> scratch;
    const auto generator = sample::make_generator(request_.rng, static_cast<uint64_t>(resolved_.seed));
    draw_noise(*generator, resolved_.latent, noise, scratch);
  };
  VENEER_TRY(prepared,
             prepare_picture({request_.init_image, request_.mask, resolved_.picture_input, resolved_.size.width,
                              resolved_.size.height, plan_.tiling, draw},
                             state_.picture_encoder(), state_.model.family->latent, tile_progress(Phase::kEncode)));
  given_ = std::move(prepared);
  return {};
}

std::vector<float> Run::start_state(sample::Generator& generator, std::vector<float>& scratch) const {
  const auto count = static_cast<size_t>(resolved_.latent.elements());
  std::vector<float> noise(count), x(count);
  draw_noise(generator, resolved_.latent, noise,
             scratch);  // also when it is not used: later draws must not depend on that
  if (request_.init_latents) {
    const Tensor given = nchw_to_nhwc(*request_.init_latents);
    std::copy_n(given.f32(), count, noise.begin());
  }
  const std::vector<float> zeros(count);
  sample::add_start_noise(state_.settings.prediction, resolved_.sigmas.front(),
                          given_.latent.empty() ? zeros : given_.latent, noise, x);
  return x;
}

Status Run::show_preview(const sample::StepReport& report) {
  const std::span<const float> values = request_.preview_noisy ? report.x : report.denoised;
  if (request_.preview == PreviewMode::kNone || !callbacks_.preview || report.step == 0 || values.empty() ||
      report.step % request_.preview_interval != 0)
    return {};
  VENEER_TRY(image, preview_image(request_.preview, state_.model, state_.tiny_place, state_.vae_place,
                                  Tensor::from(values, resolved_.latent)));
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
  // Panels make room for a decoder that does not fit beside them; the next picture decodes them again.
  if (const uint64_t available = available_memory(); available > 0 && available < plan_.decode_bytes)
    state_.panels.clear();
  VENEER_TRY(decoded, decode_latents(state_.decoder(), state_.decoder_place(), latents, plan_.tiling,
                                     tile_progress(Phase::kDecode)));
  io::Image image = image_from_tensor(decoded);
  return given_.mask.empty() ? image : keep_unmasked(image, given_.picture, given_.mask);
}

Result<Picture> Run::make_picture(int index) {
  const int64_t seed = resolved_.seed + index;
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
  GuidedDenoiser denoiser(*state_.model.denoiser, state_.denoiser_place, state_.settings,
                          {conditioning_, resolved_.guidance, given_.protection, given_.channels, resolved_.latent});
  auto last = Clock::now();
  sample::SamplerHooks hooks;
  hooks.denoise = [&](std::span<const float> state, double sigma) { return denoiser.denoise(state, sigma); };
  hooks.noise = [&](std::span<float> out) { draw_noise(later, resolved_.latent, out, scratch); };
  hooks.after_step = [&](const sample::StepReport& report) { return after_step(denoiser, report, last); };
  hooks.check_cancel = [&] { return check_cancel(); };
  const Status sampled = sample::run_sampler(
      *resolved_.sampler,
      {resolved_.sigmas, resolved_.eta, table_of(resolved_, state_.settings), resolved_.extra.sampler}, hooks, x);
  state_.denoiser_place.finish();
  VENEER_TRY_STATUS(sampled);
  const auto scale = static_cast<float>(sample::end_scale(state_.settings.prediction, resolved_.sigmas.back()));
  for (float& value : x) value /= scale;
  const double sampling = seconds_since(start);
  state_.log.info(concat("sampling completed, taking ", sampling, "s"));

  const auto decode_start = Clock::now();
  const Tensor latents = Tensor::from(x, resolved_.latent);
  VENEER_TRY(image, decode(latents));
  Json& seconds = result_.report.seconds;
  seconds["sample"] = seconds.value("sample", 0.0) + sampling;
  seconds["decode"] = seconds.value("decode", 0.0) + seconds_since(decode_start);
  return Picture{std::move(image), seed, index, nhwc_to_nchw(latents), image_text(seed)};
}

Parameters Run::parameters(int64_t seed) const {
  Parameters p;
  p.prompt = request_.written_prompt.empty() ? request_.prompt : request_.written_prompt;
  if (result_.report.stack) {
    const adapt::Receipt& receipt = result_.report.stack->receipt;
    for (const adapt::AdapterAccount& account : receipt.adapters)
      p.adapters.push_back(
          {account.name, account.strength.at("diffusion"), account.strength.at("te"), account.sha256, account.auto_v3});
    p.receipt = receipt.to_json(false);
  }
  p.negative_prompt = request_.negative_prompt;
  p.steps = resolved_.steps;
  p.cfg_scale = resolved_.cfg_scale;
  p.cfg_rescale = request_.cfg_rescale;
  p.image_cfg_scale = resolved_.guidance.image_scale;
  if (state_.model.denoiser->takes_guidance()) p.guidance = resolved_.guidance.embedded;
  p.eta = resolved_.eta;
  p.seed = seed;
  p.width = resolved_.size.width;
  p.height = resolved_.size.height;
  p.sampler = resolved_.sampler->name;
  p.schedule = request_.sigmas.empty() ? std::string(resolved_.schedule->name) : "custom";
  p.sigmas = request_.sigmas;
  p.flow_shift = request_.flow_shift;
  p.extra_sample_args = request_.extra_sample_args;
  p.rng = name_of(request_.rng);
  p.sampler_rng = name_of(request_.sampler_rng.value_or(request_.rng));
  p.prediction = name_of(state_.settings.prediction);
  p.clip_skip = std::max(request_.clip_skip, 0);
  p.t5_length = std::max(request_.t5_length, 0);
  p.model = state_.files.name;
  p.vae = base_name(state_.options.paths.vae);
  p.tiny_vae = state_.options.tiny_vae_preview_only ? std::string() : base_name(state_.options.paths.tiny_vae);
  if (request_.init_image) p.strength = request_.strength;
  if (plan_.tiling.enabled) p.tiling = plan_.tiling;
  p.compute = state_.compute() == device::Compute::kBf16 ? "bf16" : "f32";
  return p;
}

io::ImageText Run::image_text(int64_t seed) const {
  const Parameters all = parameters(seed);
  return {parameters_text(all), parameters_json(all).dump()};
}

Result<RunResult> Run::carry_out() {
  const auto start = Clock::now();
  VENEER_TRY_STATUS(check_cancel());
  VENEER_TRY(resolved, resolve(request_, state_.model, state_.settings, factor()));
  resolved_ = std::move(resolved);
  for (const std::string& warning : resolved_.warnings) warn(warning);
  if (resolved_.seed_drawn) state_.log.info(concat("seed: ", resolved_.seed));
  if (request_.init_image && !request_.width && !request_.height)
    state_.log.info(concat("size taken from the given picture: ", resolved_.size.width, "x", resolved_.size.height));
  VENEER_TRY_STATUS(check_weights());
  VENEER_TRY_STATUS(attach_adapters());
  VENEER_TRY_STATUS(read_prompts());
  const model::Condition sizes = model::blank_condition(state_.model.text_plan(), state_.model.text_encoders,
                                                        *state_.model.denoiser, prompts_.lengths());
  VENEER_TRY(plan, make_plan({state_.files, state_.model, state_.decoder(), request_.tiling, resolved_.size,
                              resolved_.branches(), sizes, state_.options.panel_cache_bytes, state_.panels.bytes(),
                              state_.held_bytes, result_.report.stack.get()}));
  plan_ = std::move(plan);
  state_.panels.set_budget(plan_.cache_bytes);
  state_.log.info(plan_.line());
  if (plan_.tiling != request_.tiling)
    warn("the picture is decoded in tiles: as a whole it would take more memory than the machine can give");
  result_.report.plan = plan_.to_json();
  VENEER_TRY_STATUS(encode_text());
  result_.report.seconds["text"] = seconds_since(start);
  const auto encode_start = Clock::now();
  VENEER_TRY_STATUS(prepare_given_picture());
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
