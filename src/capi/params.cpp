// From structures of the C interface to what sessions take.
#include "capi/params.h"

#include <cmath>

namespace veneer::capi {
namespace {

std::string text_of(const char* text) { return text ? text : ""; }

Result<io::Image> image_of(const veneer_image& image, uint32_t channels, const char* field) {
  constexpr uint32_t kLargestSide = 16384;
  if (!image.data || image.channel != channels || image.width == 0 || image.height == 0 || image.width > kLargestSide ||
      image.height > kLargestSide)
    return Error{ErrorCode::kUsage,
                 concat(field, ": expected pixels with ", channels, " channels, at most ", kLargestSide,
                        " a side, found ", image.width, "x", image.height, " with ", image.channel),
                 field};
  auto copy =
      io::Image::blank(static_cast<int>(image.width), static_cast<int>(image.height), static_cast<int>(channels));
  std::copy_n(image.data, copy.pixels.size(), copy.pixels.begin());
  return copy;
}

template <typename Value, typename Find>
Status take_name(const char* name, int value, int unset, const char* field, Value& out, Find find) {
  if (value == unset) return {};
  if (!name) return Error{ErrorCode::kUsage, concat(field, ": ", value, " is no value of this enumeration"), field};
  VENEER_TRY(found, find(name));
  out = found;
  return {};
}

}  // namespace

Result<pipeline::SessionOptions> options_of(const veneer_ctx_params& params) {
  pipeline::SessionOptions options;
  options.paths.model = text_of(params.model_path);
  options.paths.denoiser = text_of(params.diffusion_model_path);
  options.paths.clip_l = text_of(params.clip_l_path);
  options.paths.vae = text_of(params.vae_path);
  options.paths.tiny_vae = text_of(params.taesd_path);
  options.paths.tokenizer = text_of(params.tokenizer_path);
  if (params.no_mmap) options.paths.mode = MappedFile::Mode::kRead;
  options.data_dir = text_of(params.data_dir);
  if (*text_of(params.adapter_dir).c_str()) options.adapter_dir = text_of(params.adapter_dir);
  options.backend = text_of(params.backend);
  options.threads = params.threads;
  options.strict = params.strict != 0;
  options.eager_load = params.eager_load != 0;
  VENEER_TRY(types, io::TypeRules::parse(text_of(params.type), text_of(params.tensor_type_rules)));
  options.types = std::move(types);
  options.tiny_vae_preview_only = params.taesd_preview_only != 0;
  VENEER_TRY_STATUS(take_name(veneer_prediction_name(params.prediction), params.prediction, VENEER_PREDICTION_COUNT,
                              "prediction", options.prediction, sample::prediction_named));
  return options;
}

Result<pipeline::Request> request_of(const veneer_img_params& params, const AdapterSettings& settings) {
  pipeline::Request request;
  VENEER_TRY(order, adapters_of(params.adapters, params.adapter_count, settings));
  request.adapters = std::move(order);
  request.prompt = text_of(params.prompt);
  request.negative_prompt = text_of(params.negative_prompt);
  if (params.width != 0) request.width = params.width;
  if (params.height != 0) request.height = params.height;
  request.batch_count = params.batch_count;
  request.steps = params.steps;
  request.clip_skip = params.clip_skip;
  request.seed = params.seed;
  if (!std::isinf(params.cfg_scale)) request.cfg_scale = params.cfg_scale;
  if (!std::isinf(params.eta)) request.eta = params.eta;
  request.strength = params.strength;
  request.tiling.enabled = params.vae_tiling != 0;
  VENEER_TRY_STATUS(take_name(veneer_sampler_name(params.sampler), params.sampler, VENEER_SAMPLER_COUNT, "sampler",
                              request.sampler, sample::sampler_named));
  VENEER_TRY_STATUS(take_name(veneer_schedule_name(params.schedule), params.schedule, VENEER_SCHEDULE_COUNT, "schedule",
                              request.schedule, sample::schedule_named));
  VENEER_TRY_STATUS(take_name(veneer_rng_name(params.rng), params.rng, VENEER_RNG_COUNT, "rng", request.rng,
                              sample::generator_named));
  VENEER_TRY_STATUS(take_name(veneer_rng_name(params.sampler_rng), params.sampler_rng, VENEER_RNG_COUNT, "sampler_rng",
                              request.sampler_rng, sample::generator_named));
  if (params.init_image) {
    VENEER_TRY(image, image_of(*params.init_image, 3, "init_image"));
    request.init_image = std::move(image);
  }
  if (params.mask_image) {
    VENEER_TRY(image, image_of(*params.mask_image, 1, "mask_image"));
    request.mask = std::move(image);
  }
  return request;
}

namespace {

// A word of an enumeration; none leaves the default.
template <typename Value>
Status take_word(const char* word, std::optional<Value> (*from)(std::string_view), const char* field, Value& out) {
  const std::string text = text_of(word);
  if (text.empty()) return {};
  const std::optional<Value> found = from(text);
  if (!found) return Error{ErrorCode::kUsage, concat(field, ": \"", text, "\" is none of its words"), field};
  out = *found;
  return {};
}

}  // namespace

Result<AdapterSettings> settings_of(const veneer_ctx_params& params) {
  AdapterSettings settings;
  VENEER_TRY_STATUS(take_word(params.lora_apply_mode, adapt::apply_mode_from, "lora_apply_mode", settings.mode));
  VENEER_TRY_STATUS(take_word(params.adapter_policy, adapt::policy_from, "adapter_policy", settings.policy));
  VENEER_TRY_STATUS(take_word(params.combine, adapt::combine_from, "combine", settings.combine));
  VENEER_TRY_STATUS(take_word(params.dora, adapt::dora_from, "dora", settings.dora));
  return settings;
}

Result<pipeline::AdapterOrder> adapters_of(const veneer_adapter* adapters, size_t count,
                                           const AdapterSettings& settings) {
  pipeline::AdapterOrder order = settings;
  if (count > 0 && !adapters) return Error{ErrorCode::kUsage, "adapters: a list without elements", "adapters"};
  for (size_t i = 0; i < count; ++i) {
    text::AdapterRequest request;
    request.name = text_of(adapters[i].path);
    request.denoiser_scale = adapters[i].multiplier;
    request.text_encoder_scale =
        std::isinf(adapters[i].te_multiplier) ? adapters[i].multiplier : adapters[i].te_multiplier;
    if (request.name.empty() || !std::isfinite(request.denoiser_scale) || !std::isfinite(request.text_encoder_scale))
      return Error{ErrorCode::kUsage, concat("adapters: element ", i, " needs a path and multipliers that are numbers"),
                   "adapters"};
    order.adapters.push_back(std::move(request));
  }
  return order;
}

}  // namespace veneer::capi
