// Sampling settings of a model's files.
#include "pipeline/settings.h"

#include <algorithm>

#include "core/format.h"

namespace veneer::pipeline {
namespace {

constexpr std::string_view kConfigName = "scheduler_config.json";

struct PredictionChoice {
  sample::Prediction prediction;
  std::string why;
};

Result<PredictionChoice> choose_prediction(const io::ModelFiles& files, const model::Family& family,
                                           std::optional<sample::Prediction> asked) {
  if (asked) return PredictionChoice{*asked, "as asked"};
  VENEER_TRY(configured, json_string(files.scheduler_config, "prediction_type", "", kConfigName));
  if (configured == "epsilon") return PredictionChoice{sample::Prediction::kEps, "scheduler configuration"};
  if (configured == "v_prediction") return PredictionChoice{sample::Prediction::kV, "scheduler configuration"};
  if (!configured.empty())
    return Error{ErrorCode::kUnsupported,
                 concat(files.name, ": ", kConfigName, ": prediction_type \"", configured,
                        "\", expected epsilon or v_prediction"),
                 files.name};
  if (files.markers.contains("edm_vpred.sigma_max"))
    return PredictionChoice{sample::Prediction::kEdmV, "marker edm_vpred.sigma_max"};
  if (files.markers.contains("v_pred")) return PredictionChoice{sample::Prediction::kV, "marker v_pred"};
  VENEER_TRY(prediction, sample::prediction_named(family.prediction));
  return PredictionChoice{prediction, std::string(family.name)};
}

Result<std::vector<double>> configured_alphas(const Json& config) {
  if (config.is_object() && config.contains("trained_betas") && config["trained_betas"].is_array()) {
    std::vector<double> betas;
    for (const Json& beta : config["trained_betas"]) {
      if (!beta.is_number())
        return Error{ErrorCode::kBadFile, concat(kConfigName, ": trained_betas must hold numbers"),
                     std::string(kConfigName)};
      betas.push_back(beta.get<double>());
    }
    return sample::cumulative_alphas(betas);
  }
  VENEER_TRY(name, json_string(config, "beta_schedule", "scaled_linear", kConfigName));
  VENEER_TRY(start, json_number(config, "beta_start", 0.00085, kConfigName));
  VENEER_TRY(end, json_number(config, "beta_end", 0.012, kConfigName));
  VENEER_TRY(betas, sample::betas_named(name, start, end));
  return sample::cumulative_alphas(betas);
}

Result<sample::NoiseTable> choose_table(const io::ModelFiles& files, sample::Prediction prediction) {
  if (prediction == sample::Prediction::kEdmV) return sample::NoiseTable::edm();
  if (sample::is_flow(prediction)) return sample::NoiseTable::flow(1.0);
  std::vector<double> alphas;
  if (files.alphas_cumprod) {
    alphas = *files.alphas_cumprod;
  } else {
    VENEER_TRY(configured, configured_alphas(files.scheduler_config));
    alphas = std::move(configured);
  }
  VENEER_TRY(rescale,
             json_bool(files.scheduler_config, "rescale_betas_zero_snr", files.markers.contains("ztsnr"), kConfigName));
  if (rescale) alphas = sample::rescaled_to_zero_terminal_snr(alphas);
  return sample::NoiseTable::from_alphas_cumprod(alphas);
}

}  // namespace

Result<ModelSettings> read_settings(const io::ModelFiles& files, const model::Family& family, int latent_factor,
                                    std::optional<sample::Prediction> asked, std::string& why) {
  VENEER_TRY(choice, choose_prediction(files, family, asked));
  VENEER_TRY(table, choose_table(files, choice.prediction));
  // Models trained to be sampled from the very last timestep say so; walking them otherwise wastes their first steps.
  VENEER_TRY(spacing, json_string(files.scheduler_config, "timestep_spacing", "", kConfigName));
  VENEER_TRY(schedule, sample::schedule_named(spacing == "trailing" ? "simple" : "discrete"));
  VENEER_TRY(sampler, sample::sampler_named("euler_a"));
  const io::ModelPart* denoiser = files.find(io::Part::kDenoiser);
  VENEER_TRY(side, json_integer(denoiser->config, "sample_size", family.native_size / latent_factor, denoiser->source));
  const int pixels = static_cast<int>(std::clamp<int64_t>(side, 8, kLargestSide / latent_factor)) * latent_factor;
  const SizeRule rule = SizeRule::of(latent_factor, family.patch);
  why = concat("prediction: ", sample::name_of(choice.prediction), " (", choice.why, ")");
  return ModelSettings{
      choice.prediction, std::move(table), schedule, sampler, nearest_legal({pixels, pixels}, rule), rule};
}

}  // namespace veneer::pipeline
