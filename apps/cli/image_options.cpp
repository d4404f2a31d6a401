// The option table of `veneer image`, group by group. Defaults live in the structures that the options set.
#include "image_options.h"

#include "adapter_options.h"
#include "core/format.h"
#include "engine_options.h"
#include "reserved_options.h"

namespace veneer::cli {
namespace {

using pipeline::PreviewMode;
using pipeline::Request;
using pipeline::SessionOptions;

// "WxH", or one number for both.
template <typename T>
Setter pair_of(T& width, T& height, Setter (*each)(T&)) {
  return [&width, &height, each](const std::string& value) -> Status {
    const std::vector<std::string> sides = split(value, 'x');
    if (sides.size() > 2)
      return Error{ErrorCode::kUsage, concat("expected one or two numbers as in 32x32, found \"", value, "\""), {}};
    VENEER_TRY_STATUS(each(width)(sides.front()));
    return each(height)(sides.back());
  };
}

Setter sigmas(std::vector<double>& target) {
  return [&target](const std::string& value) -> Status {
    VENEER_TRY(levels, sample::parse_sigmas(value));
    target = std::move(levels);
    return {};
  };
}

OptionGroup model_group(SessionOptions& session) {
  io::ModelPaths& paths = session.paths;
  OptionGroup group = model_file_options(paths);
  const std::vector<Option> more = {
      {"--taesd,--tae", "FILE", "Tiny autoencoder; decodes unless --taesd-preview-only is given", path(paths.tiny_vae)},
      {"--taesd-preview-only", "", "Use the tiny autoencoder for previews only", flag(session.tiny_vae_preview_only)},
      {"--tokenizer", "DIR", "Folder with vocab.json and merges.txt", path(paths.tokenizer)},
      {"--prediction", "NAME", "What the denoiser predicts: eps, v, edm_v, sd3_flow, flux_flow (detected)",
       named(session.prediction, sample::prediction_named)}};
  group.options.insert(group.options.end(), more.begin(), more.end());
  return group;
}

OptionGroup engine_group(ImageOptions& options) {
  OptionGroup group = engine_options(options.session);
  group.options.push_back(
      {"--list-devices", "", "Print name, tab and description of each device", flag(options.list_devices)});
  return group;
}

OptionGroup picture_group(ImageOptions& options) {
  Request& request = options.request;
  return {
      "Picture",
      {{"-p,--prompt", "TEXT", "What to draw", text(request.prompt)},
       {"--prompt-file", "FILE", "The same from a file", path(options.prompt_file)},
       {"-n,--negative-prompt", "TEXT", "What to keep away from", text(request.negative_prompt)},
       {"--negative-prompt-file", "FILE", "The same from a file", path(options.negative_prompt_file)},
       {"--embd-dir", "DIR", "Folder of textual inversions; a word of the prompt that is a file's name stands for it",
        path(options.session.embedding_dir)},
       {"-W,--width", "N", "Width in pixels (that of --init-img, else the model's)", whole(request.width)},
       {"-H,--height", "N", "Height in pixels", whole(request.height)},
       {"-s,--seed", "N", "Seed of the first picture; below 0: random (42)", whole(request.seed)},
       {"-b,--batch-count", "N", "Number of pictures, each with the next seed (1)", whole(request.batch_count)},
       {"-i,--init-img", "FILE", "Picture to start from", path(options.init_image)},
       {"--strength", "X", "How much of it is drawn anew, 0 to 1 (0.75)", number(request.strength)},
       {"--mask", "FILE", "Where to draw anew: white (everywhere)", path(options.mask)},
       {"--init-latents", "FILE", "Noise to start from: safetensors with \"latents\" [1,C,h,w]",
        path(options.init_latents)}}};
}

OptionGroup sampling_group(Request& request) {
  return {
      "Sampling",
      {{"--steps", "N", "Sampling steps (20)", whole(request.steps)},
       {"--cfg-scale", "X", "Strength of the prompt (7.0; 1 for models with a guidance input)",
        number(request.cfg_scale)},
       {"--guidance", "X", "Guidance input of models that have one, as FLUX.1 dev (by model)",
        number(request.guidance)},
       {"--img-cfg-scale", "X", "Strength of the picture for edit models (1.5)", number(request.image_cfg_scale)},
       {"--cfg-rescale", "X", "How much of the contrast that --cfg-scale adds is taken back, 0 to 1 (0)",
        number(request.cfg_rescale)},
       {"--sampling-method", "NAME", "Solver (by model)", named(request.sampler, sample::sampler_named)},
       {"--scheduler", "NAME", "Noise schedule (by solver and model)", named(request.schedule, sample::schedule_named)},
       {"--sigmas", "LIST", "Noise levels in place of a schedule: \"14.6,3.2,0\"", sigmas(request.sigmas)},
       {"--eta", "X", "Share of fresh noise in each step (by solver)", number(request.eta)},
       {"--flow-shift", "X", "Shift of flow models (by model)", number(request.flow_shift)},
       {"--clip-skip", "N", "Text encoder layer, 1 = last; below 1: by model", whole(request.clip_skip)},
       {"--t5-length", "N", "Tokens that T5 encodes, padding included; below 1: by model", whole(request.t5_length)},
       {"--rng", "NAME", "Noise generator: cuda or cpu (cuda)", named(request.rng, sample::generator_named)},
       {"--sampler-rng", "NAME", "Generator of the solver's noise (as --rng)",
        named(request.sampler_rng, sample::generator_named)},
       {"--extra-sample-args", "LIST", "Settings of solvers and schedules: \"k=v,k=v\"",
        text(request.extra_sample_args)}}};
}

OptionGroup adapter_group(ImageOptions& options) {
  pipeline::AdapterOrder& order = options.request.adapters;
  SessionOptions& session = options.session;
  OptionGroup group{"Adapters (also as tags in the prompt: <lora:NAME:STRENGTH>)",
                    adapter_options(order, session.adapter_dir)};
  const std::vector<Option> more = {
      {"--lora-apply-mode", "MODE", "auto, at_runtime (exact) or immediately (rounded copies) (auto)",
       word_of(order.mode, adapt::apply_mode_from, "auto, immediately or at_runtime")},
      {"--combine", "WORD", "Several adapters: sum, or chain in their order (sum)",
       word_of(order.combine, adapt::combine_from, "sum or chain")},
      {"--prove", "", "Hash the weights and draw without adapters before and after; an error if anything differs",
       flag(options.prove)},
      {"--receipt", "FILE", "Write what became of every key and layer as JSON", path(options.receipt)},
      {"--lora-cache-mb", "N", "Memory for adapters that are not in use (512)",
       [&bytes = session.adapter_cache_bytes](const std::string& value) -> Status {
         int64_t megabytes = 0;
         VENEER_TRY_STATUS(whole(megabytes)(value));
         if (megabytes < 0 || megabytes > (int64_t{1} << 24))
           return Error{ErrorCode::kUsage, concat("expected a number of MiB, found \"", value, "\""), {}};
         bytes = static_cast<uint64_t>(megabytes) << 20;
         return {};
       }}};
  group.options.insert(group.options.end(), more.begin(), more.end());
  return group;
}

OptionGroup decoding_group(pipeline::TilingOptions& tiling) {
  return {"Decoding",
          {{"--vae-tiling", "", "Decode in tiles, which needs less memory", flag(tiling.enabled)},
           {"--vae-tile-size", "WxH", "Tile in latent pixels (32x32)",
            pair_of<int>(tiling.tile_width, tiling.tile_height, whole)},
           {"--vae-relative-tile-size", "WxH", "Tile as a share of the latent (up to 1) or number of tiles (above 1)",
            pair_of<double>(tiling.relative_width, tiling.relative_height, number)},
           {"--vae-tile-overlap", "X", "Shared part of neighbouring tiles, 0 to 0.5 (0.5)", number(tiling.overlap)}}};
}

OptionGroup output_group(ImageOptions& options) {
  Request& request = options.request;
  return {
      "Output",
      {{"-o,--output", "PATH",
        "File to write, .png .jpg or .webp; %d or %03d is the index; - for stdout (./output.png)",
        text(options.output)},
       {"--output-begin-idx", "N", "First index (0)", whole(options.first_index)},
       {"--disable-image-metadata", "", "Write no parameters into the picture", flag(options.image_metadata, false)},
       {"--save-latents", "FILE", "Write the latents before decoding as safetensors", path(options.save_latents)},
       {"--preview", "KIND", "Pictures on the way: none, proj, tae or vae (none)",
        choice(request.preview, {{"none", PreviewMode::kNone},
                                 {"proj", PreviewMode::kProjection},
                                 {"tae", PreviewMode::kTiny},
                                 {"vae", PreviewMode::kVae}})},
       {"--preview-interval", "N", "Steps between previews (1)", whole(request.preview_interval)},
       {"--preview-path", "FILE", "Where the latest preview lies (./preview.png)", path(options.preview)},
       {"--preview-noisy", "", "Show the noisy state instead of the estimate", flag(request.preview_noisy)}}};
}

}  // namespace

OptionTable image_option_table(ImageOptions& options, ConsoleOptions& console) {
  return {"veneer image",
          "Draws pictures from text.",
          {picture_group(options), adapter_group(options), sampling_group(options.request),
           model_group(options.session), output_group(options), type_options(options.types),
           decoding_group(options.request.tiling), engine_group(options), general_options(console),
           options_without_effect(options.no_effect), options_not_available()}};
}

}  // namespace veneer::cli
