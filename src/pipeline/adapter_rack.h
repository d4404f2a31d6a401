// The adapters of a session: files that were opened, how they fit the model, and the set in use. A set that differs
// only in strengths reads no file; the set in use is not built again. Used on the engine thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>

#include "adapt/library.h"
#include "pipeline/adapter_choice.h"

namespace veneer::pipeline {

class AdapterRack {
 public:
  struct Options {
    std::filesystem::path directory;
    adapt::Library::Reach reach = adapt::Library::Reach::kAnywhere;
    uint64_t cache_bytes = 0;
    MappedFile::Mode mode = MappedFile::Mode::kMap;
    bool strict = false;  // reference arithmetic
    bool folds = true;    // terms may join decoded weights: no rounding follows that would lose them
  };
  // The model and the device must outlive the rack.
  AdapterRack(const model::Model& model, const device::Device& device, Options options, Log log);

  struct Outcome {
    std::shared_ptr<const adapt::Stack> stack;  // null for an order without adapters
    std::vector<std::string> warnings;          // already logged
  };
  // Errors: not_found (naming the nearest files), bad_file, mismatch, unsupported: as the order's policy sees them; the
  // set that was in use before stays.
  Result<Outcome> stack_for(const AdapterOrder& order);

 private:
  struct OpenFile {
    uintmax_t size = 0;
    std::filesystem::file_time_type changed;
    std::shared_ptr<const adapt::Adapter> adapter;
  };

  Result<std::shared_ptr<const adapt::Adapter>> open(const std::filesystem::path& path);
  Result<std::shared_ptr<const adapt::Fitted>> fitted(std::shared_ptr<const adapt::Adapter> adapter,
                                                      const adapt::LowerOptions& options);
  Result<const adapt::Resolver*> resolver();
  void drop_unused();
  void tell(const adapt::Stack& stack, double seconds, std::vector<std::string>& warnings);

  const model::Model& model_;
  const device::Device& device_;
  const Options options_;
  const Log log_;
  std::optional<adapt::Resolver> resolver_;
  std::map<std::filesystem::path, OpenFile> files_;
  std::list<std::shared_ptr<const adapt::Fitted>> fitted_;  // the last used first
  std::string current_key_;                                 // of the set in use
  std::shared_ptr<const adapt::Stack> current_;
  bool told_not_merged_ = false;
};

}  // namespace veneer::pipeline
