// The account of a picture as text and as JSON. Knows the two layouts and no picture format.
#include "pipeline/parameters.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "core/format.h"
#include "pipeline/version.h"

namespace veneer::pipeline {
namespace {

constexpr std::string_view kSchema = "veneer.image.params/v1";
constexpr std::string_view kProduct = "veneer";

std::string fixed(double value, int digits) {
  char text[400];  // the largest double has 309 digits before its point
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Readers split the line at commas and colons, except within a JSON string.
std::string quoted_if_needed(const std::string& value) {
  if (value.find_first_of(",:\"\n") == std::string::npos) return value;
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string sigma_list(const std::vector<double>& sigmas) {
  std::vector<std::string> texts;
  for (const double sigma : sigmas) texts.push_back(fixed(sigma, 4));
  return concat("[", join(texts, ", "), "]");
}

Json models_json(const Parameters& parameters) {
  Json models = Json::object();
  if (!parameters.model.empty()) models["model"] = parameters.model;
  if (!parameters.vae.empty()) models["vae"] = parameters.vae;
  if (!parameters.tiny_vae.empty()) models["tae"] = parameters.tiny_vae;
  return models;
}

Json sampling_json(const Parameters& parameters) {
  Json sampling = {{"method", parameters.sampler},
                   {"scheduler", parameters.schedule},
                   {"steps", parameters.steps},
                   {"eta", parameters.eta},
                   {"prediction", parameters.prediction}};
  if (!parameters.sigmas.empty()) sampling["custom_sigmas"] = parameters.sigmas;
  if (parameters.flow_shift) sampling["flow_shift"] = *parameters.flow_shift;
  if (!parameters.extra_sample_args.empty()) sampling["extra_sample_args"] = parameters.extra_sample_args;
  sampling["guidance"] = {{"txt_cfg", parameters.cfg_scale}, {"rescale", parameters.cfg_rescale}};
  if (parameters.image_cfg_scale) sampling["guidance"]["img_cfg"] = *parameters.image_cfg_scale;
  if (parameters.guidance) sampling["guidance"]["distilled_guidance"] = *parameters.guidance;
  return sampling;
}

Json adapters_json(const std::vector<UsedAdapter>& adapters) {
  Json json = Json::array();
  for (const UsedAdapter& adapter : adapters)
    json.push_back({{"name", adapter.name},
                    {"multiplier", adapter.denoiser},
                    {"te_multiplier", adapter.text_encoder},
                    {"sha256", adapter.sha256},
                    {"auto_v3", adapter.auto_v3}});
  return json;
}

// "name: 0123456789ab, other: ...", as A1111 writes it: the first twelve digits of the hash that ignores the header.
std::string adapter_hashes(const std::vector<UsedAdapter>& adapters) {
  constexpr size_t kDigits = 12;
  std::vector<std::string> texts;
  for (const UsedAdapter& adapter : adapters)
    if (!adapter.auto_v3.empty()) texts.push_back(concat(adapter.name, ": ", adapter.auto_v3.substr(0, kDigits)));
  return join(texts, ", ");
}

Json tiling_json(const TilingOptions& tiling) {
  return {{"enabled", tiling.enabled},
          {"tile_size_x", tiling.tile_width},
          {"tile_size_y", tiling.tile_height},
          {"rel_size_x", tiling.relative_width},
          {"rel_size_y", tiling.relative_height},
          {"target_overlap", tiling.overlap}};
}

// The member `key` as an object; an empty one when it is absent. Errors: bad_file.
Result<Json> json_object(const Json& object, const char* key, std::string_view name) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return Json(Json::object());
  if (!found->is_object())
    return Error{ErrorCode::kBadFile, concat(name, ": \"", key, "\" must be an object"), std::string(name)};
  return Json(*found);
}

Status read_int(const Json& object, const char* key, std::string_view name, int& value) {
  VENEER_TRY(wide, json_integer(object, key, value, name));
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    return Error{ErrorCode::kBadFile, concat(name, ": \"", key, "\" is out of range, found ", wide), std::string(name)};
  value = static_cast<int>(wide);
  return {};
}

Status read_number(const Json& object, const char* key, std::string_view name, double& value) {
  VENEER_TRY(read, json_number(object, key, value, name));
  value = read;
  return {};
}

Status read_number(const Json& object, const char* key, std::string_view name, std::optional<double>& value) {
  if (!object.contains(key) || object[key].is_null()) return {};
  return read_number(object, key, name, value.emplace());
}

Status read_string(const Json& object, const char* key, std::string_view name, std::string& value) {
  VENEER_TRY(read, json_string(object, key, value, name));
  value = std::move(read);
  return {};
}

Status read_sigmas(const Json& sampling, std::string_view name, std::vector<double>& sigmas) {
  const auto found = sampling.find("custom_sigmas");
  if (found == sampling.end() || found->is_null()) return {};
  if (!found->is_array() || !std::ranges::all_of(*found, [](const Json& value) { return value.is_number(); }))
    return Error{ErrorCode::kBadFile, concat(name, ": \"custom_sigmas\" must be a list of numbers"), std::string(name)};
  sigmas = found->get<std::vector<double>>();
  return {};
}

Status read_sampling(const Json& json, std::string_view name, Parameters& out) {
  VENEER_TRY(sampling, json_object(json, "sampling", name));
  VENEER_TRY(guidance, json_object(sampling, "guidance", name));
  VENEER_TRY_STATUS(read_string(sampling, "method", name, out.sampler));
  VENEER_TRY_STATUS(read_string(sampling, "scheduler", name, out.schedule));
  VENEER_TRY_STATUS(read_int(sampling, "steps", name, out.steps));
  VENEER_TRY_STATUS(read_number(sampling, "eta", name, out.eta));
  VENEER_TRY_STATUS(read_string(sampling, "prediction", name, out.prediction));
  VENEER_TRY_STATUS(read_sigmas(sampling, name, out.sigmas));
  VENEER_TRY_STATUS(read_number(sampling, "flow_shift", name, out.flow_shift));
  VENEER_TRY_STATUS(read_string(sampling, "extra_sample_args", name, out.extra_sample_args));
  VENEER_TRY_STATUS(read_number(guidance, "txt_cfg", name, out.cfg_scale));
  VENEER_TRY_STATUS(read_number(guidance, "img_cfg", name, out.image_cfg_scale));
  VENEER_TRY_STATUS(read_number(guidance, "distilled_guidance", name, out.guidance));
  return read_number(guidance, "rescale", name, out.cfg_rescale);
}

Status read_tiling(const Json& json, std::string_view name, Parameters& out) {
  if (!json.contains("vae_tiling") || json["vae_tiling"].is_null()) return {};
  VENEER_TRY(read, json_object(json, "vae_tiling", name));
  TilingOptions& tiling = out.tiling.emplace();
  VENEER_TRY(enabled, json_bool(read, "enabled", tiling.enabled, name));
  tiling.enabled = enabled;
  VENEER_TRY_STATUS(read_int(read, "tile_size_x", name, tiling.tile_width));
  VENEER_TRY_STATUS(read_int(read, "tile_size_y", name, tiling.tile_height));
  VENEER_TRY_STATUS(read_number(read, "rel_size_x", name, tiling.relative_width));
  VENEER_TRY_STATUS(read_number(read, "rel_size_y", name, tiling.relative_height));
  return read_number(read, "target_overlap", name, tiling.overlap);
}

Status read_models(const Json& json, std::string_view name, Parameters& out) {
  VENEER_TRY(models, json_object(json, "models", name));
  VENEER_TRY_STATUS(read_string(models, "model", name, out.model));
  VENEER_TRY_STATUS(read_string(models, "vae", name, out.vae));
  return read_string(models, "tae", name, out.tiny_vae);
}

Status read_adapters(const Json& json, std::string_view name, Parameters& out) {
  const auto found = json.find("loras");
  if (found == json.end() || found->is_null()) return {};
  if (!found->is_array())
    return Error{ErrorCode::kBadFile, concat(name, ": \"loras\" must be a list"), std::string(name)};
  for (const Json& one : *found) {
    if (!one.is_object())
      return Error{ErrorCode::kBadFile, concat(name, ": \"loras\" must be a list of objects"), std::string(name)};
    UsedAdapter& adapter = out.adapters.emplace_back();
    VENEER_TRY_STATUS(read_string(one, "name", name, adapter.name));
    VENEER_TRY_STATUS(read_number(one, "multiplier", name, adapter.denoiser));
    adapter.text_encoder = adapter.denoiser;
    VENEER_TRY_STATUS(read_number(one, "te_multiplier", name, adapter.text_encoder));
    VENEER_TRY_STATUS(read_string(one, "sha256", name, adapter.sha256));
    VENEER_TRY_STATUS(read_string(one, "auto_v3", name, adapter.auto_v3));
  }
  return {};
}

Status read_picture(const Json& json, std::string_view name, Parameters& out) {
  VENEER_TRY(prompt, json_object(json, "prompt", name));
  VENEER_TRY_STATUS(read_string(prompt, "positive", name, out.prompt));
  VENEER_TRY_STATUS(read_string(prompt, "negative", name, out.negative_prompt));
  VENEER_TRY(seed, json_integer(json, "seed", out.seed, name));
  out.seed = seed;
  VENEER_TRY_STATUS(read_int(json, "width", name, out.width));
  VENEER_TRY_STATUS(read_int(json, "height", name, out.height));
  VENEER_TRY_STATUS(read_int(json, "clip_skip", name, out.clip_skip));
  VENEER_TRY_STATUS(read_int(json, "t5_length", name, out.t5_length));
  VENEER_TRY_STATUS(read_string(json, "rng", name, out.rng));
  VENEER_TRY_STATUS(read_string(json, "sampler_rng", name, out.sampler_rng));
  VENEER_TRY_STATUS(read_string(json, "compute", name, out.compute));
  return read_number(json, "strength", name, out.strength);
}

}  // namespace

std::string parameters_text(const Parameters& parameters) {
  std::string text = parameters.prompt + "\n";
  if (!parameters.negative_prompt.empty()) text += concat("Negative prompt: ", parameters.negative_prompt, "\n");
  const auto add = [&text](std::string_view key, const std::string& value) { text += concat(key, ": ", value, ", "); };
  add("Steps", std::to_string(parameters.steps));
  add("CFG scale", fixed(parameters.cfg_scale, 6));
  if (parameters.image_cfg_scale) add("Image CFG scale", fixed(*parameters.image_cfg_scale, 6));
  if (parameters.guidance) add("Guidance", fixed(*parameters.guidance, 6));
  add("Eta", fixed(parameters.eta, 6));
  add("Seed", std::to_string(parameters.seed));
  add("Size", concat(parameters.width, "x", parameters.height));
  if (!parameters.model.empty()) add("Model", quoted_if_needed(parameters.model));
  add("RNG", parameters.rng);
  if (!parameters.sampler_rng.empty() && parameters.sampler_rng != parameters.rng)
    add("Sampler RNG", parameters.sampler_rng);
  if (parameters.sigmas.empty()) {
    add("Sampler", concat(parameters.sampler, " ", parameters.schedule));
  } else {
    add("Sampler", parameters.sampler);
    add("Custom Sigmas", sigma_list(parameters.sigmas));
  }
  if (!parameters.vae.empty()) add("VAE", quoted_if_needed(parameters.vae));
  if (parameters.clip_skip > 0) add("Clip skip", std::to_string(parameters.clip_skip));
  if (parameters.t5_length > 0) add("T5 length", std::to_string(parameters.t5_length));
  const std::string hashes = adapter_hashes(parameters.adapters);
  if (!hashes.empty()) add("Lora hashes", concat("\"", hashes, "\""));
  add("Version", concat(kProduct, " ", version()));
  const std::string json = parameters_json(parameters).dump(-1, ' ', false, Json::error_handler_t::replace);
  return text + "Veneer: " + json;
}

Json parameters_json(const Parameters& parameters) {
  Json json = {{"schema", kSchema},
               {"mode", "img_gen"},
               {"generator", {{"name", kProduct}, {"version", version()}, {"commit", commit()}}},
               {"seed", parameters.seed},
               {"width", parameters.width},
               {"height", parameters.height},
               {"prompt", {{"positive", parameters.prompt}, {"negative", parameters.negative_prompt}}},
               {"sampling", sampling_json(parameters)},
               {"models", models_json(parameters)},
               {"clip_skip", parameters.clip_skip},
               {"t5_length", parameters.t5_length}};
  if (!parameters.adapters.empty()) json["loras"] = adapters_json(parameters.adapters);
  if (!parameters.receipt.is_null()) json["receipt"] = parameters.receipt;
  if (parameters.strength) json["strength"] = *parameters.strength;
  json["rng"] = parameters.rng;
  json["sampler_rng"] = parameters.sampler_rng;
  if (parameters.tiling) json["vae_tiling"] = tiling_json(*parameters.tiling);
  json["compute"] = parameters.compute;
  return json;
}

Result<Parameters> parameters_from_json(const Json& json, std::string_view name) {
  if (!json.is_object())
    return Error{ErrorCode::kBadFile, concat(name, ": expected an object of generation parameters"), std::string(name)};
  VENEER_TRY(schema, json_string(json, "schema", "", name));
  if (schema != kSchema)
    return Error{ErrorCode::kBadFile, concat(name, ": expected \"schema\" ", kSchema, ", found \"", schema, "\""),
                 std::string(name)};
  Parameters parameters;
  VENEER_TRY_STATUS(read_picture(json, name, parameters));
  VENEER_TRY_STATUS(read_sampling(json, name, parameters));
  VENEER_TRY_STATUS(read_models(json, name, parameters));
  VENEER_TRY_STATUS(read_tiling(json, name, parameters));
  VENEER_TRY_STATUS(read_adapters(json, name, parameters));
  if (const auto receipt = json.find("receipt"); receipt != json.end()) parameters.receipt = *receipt;
  return parameters;
}

std::string_view embedded_json(std::string_view text) {
  // It is the last key of the last line; an earlier mention may be part of the prompt.
  text = trim(text);
  const std::string_view line = text.substr(text.rfind('\n') + 1);
  size_t best = std::string_view::npos;
  for (const std::string_view key : {"Veneer: {", "SDCPP: {"}) {
    const size_t found = line.find(key);
    if (found != std::string_view::npos) best = std::min(best, found + key.size() - 1);
  }
  return best == std::string_view::npos ? std::string_view() : line.substr(best);
}

}  // namespace veneer::pipeline
