// Opening a model and fitting adapters to it.
#include "pipeline/adapted_model.h"

#include "core/format.h"
#include "model/spellings.h"

namespace veneer::pipeline {

Result<std::unique_ptr<AdaptedModel>> AdaptedModel::open(const Options& options, const Log& log) {
  const auto& place = options.paths.model.empty() ? options.paths.denoiser : options.paths.model;
  log.info(concat("loading model from '", place.string(), "'"));
  VENEER_TRY(files, io::open_model_files(options.paths));
  VENEER_TRY(model, model::build_model(files));
  for (const std::string& warning : files.warnings) log.warn(warning);
  std::unique_ptr<AdaptedModel> adapted(new AdaptedModel(std::move(files), std::move(model), options, log));
  VENEER_TRY(resolver, adapt::Resolver::build(model::name_table(adapted->model_)));
  adapted->resolver_ = std::move(resolver);
  return adapted;
}

Result<std::shared_ptr<const adapt::Fitted>> AdaptedModel::fit(const std::string& name,
                                                               const adapt::LowerOptions& options) {
  const adapt::Library library(options_.adapter_dir, adapt::Library::Reach::kAnywhere);
  VENEER_TRY(path, library.find(name));
  log_.info(concat("loading LoRA from '", path.string(), "'"));
  VENEER_TRY(adapter, adapt::open_adapter(path, options_.paths.mode));
  std::optional<Result<std::shared_ptr<const adapt::Fitted>>> fitted;
  engine_.run([&] { fitted = adapt::fit(std::move(adapter), *resolver_, options, model_.family->name); });
  return *std::move(fitted);
}

Result<std::vector<Candidate>> AdaptedModel::fit(const AdapterOrder& order) {
  std::vector<Candidate> candidates;
  for (const text::AdapterRequest& request : order.adapters) {
    VENEER_TRY(blocks, block_weights_of(request));
    adapt::LowerOptions options;
    options.dora = order.dora;
    options.rank_limit = request.dyn_rank.value_or(0);
    auto fitted = fit(request.name, options);
    if (!fitted) {
      const ErrorCode code = fitted.error().code;
      const bool may_miss = order.policy == adapt::Policy::kLenient && code != ErrorCode::kUsage;
      if (!may_miss || code == ErrorCode::kIo || code == ErrorCode::kNoMemory) return fitted.error();
      log_.warn(concat("goes on without it: ", fitted.error().message));
      continue;
    }
    adapt::Verdict verdict = adapt::judge(**fitted, order.policy);
    candidates.push_back({{*std::move(fitted), request.text_encoder_scale, request.denoiser_scale, std::move(blocks)},
                          std::move(verdict)});
  }
  return candidates;
}

Result<std::vector<adapt::StackEntry>> accepted(const std::vector<Candidate>& candidates, const Log& log) {
  std::vector<adapt::StackEntry> entries;
  for (const Candidate& candidate : candidates) {
    if (candidate.verdict.error) return *candidate.verdict.error;
    for (const std::string& warning : candidate.verdict.warnings) log.warn(warning);
    if (!candidate.verdict.left_out) entries.push_back(candidate.entry);
  }
  return entries;
}

}  // namespace veneer::pipeline
