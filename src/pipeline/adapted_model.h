// A model's layers and the adapters of an order, brought together without a device and without drawing: for checking,
// measuring and merging.
#pragma once

#include <memory>
#include <optional>

#include "adapt/library.h"
#include "adapt/stack.h"
#include "core/log.h"
#include "core/threads.h"
#include "model/model.h"
#include "pipeline/request.h"

namespace veneer::pipeline {

// An adapter of an order as the model sees it.
struct Candidate {
  adapt::StackEntry entry;
  adapt::Verdict verdict;
};

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
  // All adapters of the order, judged by its policy. A file that is missing or broken is an error, or under the lenient
  // policy a warning in the log.
  Result<std::vector<Candidate>> fit(const AdapterOrder& order);

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

// Those that take part, with the verdicts' warnings logged. Errors: the first that a verdict has.
Result<std::vector<adapt::StackEntry>> accepted(const std::vector<Candidate>& candidates, const Log& log);

}  // namespace veneer::pipeline
