// A model's layers and the adapters of an order, brought together without a device and without drawing: for checking,
// measuring and merging.
#pragma once

#include <memory>
#include <optional>

#include "adapt/library.h"
#include "core/threads.h"
#include "pipeline/adapter_choice.h"

namespace veneer::pipeline {

class AdaptedModel {
 public:
  struct Options {
    io::ModelPaths paths;
    std::filesystem::path adapter_dir = ".";  // where names of adapters are looked for
    int threads = 0;                          // <= 0: physical cores
  };
  // Errors: those of io::open_model_files and model::build_model.
  static Result<std::unique_ptr<AdaptedModel>> open(const Options& options, const Log& log);

  const model::Model& model() const { return model_; }
  const io::ModelFiles& files() const { return files_; }
  const adapt::Resolver& resolver() const { return *resolver_; }
  EngineThread& engine() { return engine_; }

  // Opens one adapter file and fits it. Errors: as Library::find, open_adapter and fit have them.
  Result<std::shared_ptr<const adapt::Fitted>> fit(const std::string& name, const adapt::LowerOptions& options);
  // As candidates_of and accept; warnings go to the log.
  Result<Candidates> fit(const AdapterOrder& order);
  Result<std::vector<adapt::StackEntry>> accepted(Candidates candidates) const;

 private:
  AdaptedModel(io::ModelFiles files, model::Model model, const Options& options, Log log)
      : files_(std::move(files)),
        model_(std::move(model)),
        options_(options),
        log_(std::move(log)),
        engine_(options.threads) {}

  const io::ModelFiles files_;
  const model::Model model_;
  const Options options_;
  const Log log_;
  EngineThread engine_;
  std::optional<adapt::Resolver> resolver_;
};

}  // namespace veneer::pipeline
