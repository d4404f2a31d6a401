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

Result<Candidates> AdaptedModel::fit(const AdapterOrder& order) {
  return candidates_of(order,
                       [&](const std::string& name, const adapt::LowerOptions& options) { return fit(name, options); });
}

Result<std::vector<adapt::StackEntry>> AdaptedModel::accepted(Candidates candidates) const {
  VENEER_TRY(accepted, accept(std::move(candidates), log_, "goes on without it"));
  for (const std::string& warning : accepted.warnings) log_.warn(warning);
  return std::move(accepted.entries);
}

}  // namespace veneer::pipeline
