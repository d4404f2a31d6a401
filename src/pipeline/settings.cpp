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

// At the last timestep a prediction of the noise is nearly the input itself; a velocity lies far below.
constexpr double kMeanOfVelocities = -1.0;

Result<PredictionChoice> choose_prediction(const io::ModelFiles& files, const model::Family& family,
                                           std::optional<sample::Prediction> asked, const Probe& probe) {
  if (asked) return PredictionChoice{*asked, "as asked"};
  VENEER_TRY(configured, json_string(files.scheduler_config, "prediction_type", "", kConfigName));
  if (configured == "epsilon") return PredictionChoice{sample::Prediction::kEps, "scheduler configuration"};
  if (configured == "v_prediction") return PredictionChoice{sample::Prediction::kV, "scheduler configuration"};
  if (!configured.empty() && configured != "flow_prediction")
    return Error{ErrorCode::kUnsupported,
                 concat(files.name, ": ", kConfigName, ": prediction_type \"", configured,
                        "\", expected epsilon, v_prediction or flow_prediction"),
                 files.name};
  if (files.markers.contains("edm_vpred.sigma_max"))
    return PredictionChoice{sample::Prediction::kEdmV, "marker edm_vpred.sigma_max"};
  if (files.markers.contains("v_pred")) return PredictionChoice{sample::Prediction::kV, "marker v_pred"};
  if (family.sampling.probe_for_v) {
    VENEER_TRY(mean, probe());
    return PredictionChoice{mean < kMeanOfVelocities ? sample::Prediction::kV : sample::Prediction::kEps,
                            concat("the network's answer to a probe, ", mean)};
  }
  VENEER_TRY(prediction, sample::prediction_named(family.sampling.prediction));
  return PredictionChoice{prediction, std::string(family.name)};
}

Result<std::vector<double>> configured_alphas(const Json& config, const model::SamplingDefaults& defaults) {
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
  VENEER_TRY(name, json_string(config, "beta_schedule", defaults.betas, kConfigName));
  VENEER_TRY(start, json_number(config, "beta_start", defaults.beta_start, kConfigName));
  VENEER_TRY(end, json_number(config, "beta_end", defaults.beta_end, kConfigName));
  VENEER_TRY(betas, sample::betas_named(name, start, end));
  return sample::cumulative_alphas(betas);
}

Result<sample::NoiseTable> choose_table(const io::ModelFiles& files, const model::Family& family,
                                        sample::Prediction prediction) {
  if (prediction == sample::Prediction::kEdmV) return sample::NoiseTable::edm();
  if (sample::is_flow(prediction)) {
    double shift = family.sampling.flow_shift;
    if (!family.sampling.exponential_shift) {
      VENEER_TRY(configured, json_number(files.scheduler_config, "shift", shift, kConfigName));
      shift = configured;
    }
    return flow_table(family, shift);
  }
  std::vector<double> alphas;
  if (files.alphas_cumprod) {
    alphas = *files.alphas_cumprod;
  } else {
    VENEER_TRY(configured, configured_alphas(files.scheduler_config, family.sampling));
    alphas = std::move(configured);
  }
  VENEER_TRY(rescale,
             json_bool(files.scheduler_config, "rescale_betas_zero_snr", files.markers.contains("ztsnr"), kConfigName));
  if (rescale) alphas = sample::rescaled_to_zero_terminal_snr(alphas);
  return sample::NoiseTable::from_alphas_cumprod(alphas);
}

// Models trained to be sampled from the very last timestep say so; walking them otherwise wastes their first steps.
Result<const sample::Schedule*> choose_schedule(const io::ModelFiles& files, const model::Family& family,
                                                sample::Prediction prediction) {
  if (prediction == sample::Prediction::kEdmV) return sample::schedule_named("exponential");
  VENEER_TRY(spacing, json_string(files.scheduler_config, "timestep_spacing", "", kConfigName));
  return sample::schedule_named(spacing == "trailing" ? "simple" : family.sampling.schedule);
}

// The ends of a shift that grows with the number of tokens.
Status read_dynamic_shift(const Json& config, ModelSettings& settings) {
  VENEER_TRY(dynamic, json_bool(config, "use_dynamic_shifting", false, kConfigName));
  if (!dynamic) return {};
  for (const auto& [name, value] :
       {std::pair("base_shift", &settings.base_shift), std::pair("max_shift", &settings.max_shift)}) {
    if (!config.contains(name)) continue;
    VENEER_TRY(number, json_number(config, name, 0.0, kConfigName));
    *value = number;
  }
  return {};
}

}  // namespace

Result<sample::NoiseTable> flow_table(const model::Family& family, double shift) {
  return family.sampling.exponential_shift ? sample::NoiseTable::flow_exponential(shift)
                                           : sample::NoiseTable::flow(shift);
}

Result<ModelSettings> read_settings(const io::ModelFiles& files, const model::Model& model, int latent_factor,
                                    std::optional<sample::Prediction> asked, const Probe& probe) {
  const model::Family& family = *model.family;
  if (files.markers.contains("edm_mean"))
    return Error{ErrorCode::kUnsupported,
                 concat(files.name,
                        ": its latents have a mean and a deviation of their own (edm_mean, as Playground 2.5), "
                        "which is not supported yet"),
                 files.name};
  VENEER_TRY(choice, choose_prediction(files, family, asked, probe));
  VENEER_TRY(table, choose_table(files, family, choice.prediction));
  VENEER_TRY(schedule, choose_schedule(files, family, choice.prediction));
  VENEER_TRY(sampler, sample::sampler_named(family.sampling.sampler));
  const bool larger = choice.prediction == sample::Prediction::kV && family.native_size_for_v > 0;
  const int native = larger ? family.native_size_for_v : family.native_size;
  const io::ModelPart* denoiser = files.find(io::Part::kDenoiser);
  VENEER_TRY(side, json_integer(denoiser->config, "sample_size", native / latent_factor, denoiser->source));
  const int pixels = static_cast<int>(std::clamp<int64_t>(side, 8, kLargestSide / latent_factor)) * latent_factor;
  const SizeRule rule =
      SizeRule::of(latent_factor, static_cast<int>(model.denoiser->size_multiple()), model.denoiser->largest_side());
  ModelSettings settings{.prediction = choice.prediction,
                         .prediction_source = std::move(choice.why),
                         .table = std::move(table),
                         .schedule = schedule,
                         .sampler = sampler,
                         .native_size = nearest_legal({pixels, pixels}, rule),
                         .size_rule = rule};
  VENEER_TRY_STATUS(read_dynamic_shift(files.scheduler_config, settings));
  return settings;
}

}  // namespace veneer::pipeline
