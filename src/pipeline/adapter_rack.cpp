// Opening, fitting and stacking of adapters for a session.
#include "pipeline/adapter_rack.h"

#include <algorithm>
#include <chrono>

#include "core/format.h"
#include "model/spellings.h"

namespace veneer::pipeline {
namespace {

// Everything that a stack depends on, files included by their identity.
std::string key_of(const AdapterOrder& order, std::span<const adapt::StackEntry> entries) {
  Json key = {adapt::name_of(order.combine), adapt::name_of(order.mode), adapt::name_of(order.dora),
              adapt::name_of(order.policy)};
  for (const adapt::StackEntry& entry : entries)
    key.push_back({entry.fitted->adapter->sha256, entry.text_encoder, entry.denoiser, entry.fitted->options.rank_limit,
                   entry.blocks ? entry.blocks->to_string() : std::string()});
  return key.dump();
}

}  // namespace

AdapterRack::AdapterRack(const model::Model& model, const device::Device& device, Options options, Log log)
    : model_(model), device_(device), options_(std::move(options)), log_(std::move(log)) {}

Result<const adapt::Resolver*> AdapterRack::resolver() {
  if (!resolver_) {
    VENEER_TRY(built, adapt::Resolver::build(model::name_table(model_)));
    resolver_ = std::move(built);
  }
  return &*resolver_;
}

Result<std::shared_ptr<const adapt::Adapter>> AdapterRack::open(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  const uintmax_t size = std::filesystem::file_size(path, error);
  const auto changed = std::filesystem::last_write_time(path, error);
  const auto held = files_.find(real);
  if (!error && held != files_.end() && held->second.size == size && held->second.changed == changed)
    return held->second.adapter;
  log_.info(concat("loading LoRA from '", path.string(), "'"));
  auto opened = adapt::open_adapter(path, options_.mode);
  if (!opened) {
    Error failed = opened.error();
    failed.message = concat("load lora tensors from ", path.string(), " failed: ", failed.message);
    return failed;
  }
  const auto adapter = *std::move(opened);
  files_[real] = {size, changed, adapter};
  return adapter;
}

Result<std::shared_ptr<const adapt::Fitted>> AdapterRack::fitted(std::shared_ptr<const adapt::Adapter> adapter,
                                                                 const adapt::LowerOptions& options) {
  const auto held = std::find_if(fitted_.begin(), fitted_.end(), [&](const auto& one) {
    return one->adapter == adapter && one->options.dora == options.dora &&
           one->options.rank_limit == options.rank_limit;
  });
  if (held != fitted_.end()) {
    fitted_.splice(fitted_.begin(), fitted_, held);
    return fitted_.front();
  }
  VENEER_TRY(known, resolver());
  adapt::LowerOptions with_limit = options;
  // What is folded anyway takes less memory as rows on demand, from rank 3 on.
  if (options_.folds && !options_.strict) with_limit.pair_limit = 4;
  VENEER_TRY(made, adapt::fit(std::move(adapter), *known, with_limit, model_.family->name));
  fitted_.push_front(made);
  return made;
}

// Adapters that the set in use does not need may stay while they are small.
void AdapterRack::drop_unused() {
  const auto in_use = [&](const adapt::Fitted& one) {
    return current_ && std::ranges::any_of(current_->receipt.adapters, [&](const adapt::AdapterAccount& account) {
             return account.sha256 == one.adapter->sha256;
           });
  };
  uint64_t bytes = 0;
  for (auto one = fitted_.begin(); one != fitted_.end();) {
    const bool used = in_use(**one);
    if (!used) bytes += static_cast<uint64_t>((*one)->held_bytes);
    one = !used && bytes > options_.cache_bytes ? fitted_.erase(one) : std::next(one);
  }
  std::erase_if(files_, [&](const auto& file) {
    return std::ranges::none_of(fitted_, [&](const auto& one) { return one->adapter == file.second.adapter; });
  });
}

void AdapterRack::tell(const adapt::Stack& stack, double seconds, std::vector<std::string>& warnings) {
  const auto routes = stack.receipt.routes();
  log_.info(concat("apply_loras completed, taking ", seconds, "s: ", routes.at("beside"), " layers beside, ",
                   routes.at("folded"), " folded, ", routes.at("merged"), " merged"));
  if (stack.receipt.not_merged.empty() || told_not_merged_) return;
  told_not_merged_ = true;
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : stack.receipt.not_merged) reasons.push_back(concat(count, " of ", reason));
  warnings.push_back(concat("--lora-apply-mode immediately: some layers can not hold the sum exactly and run beside: ",
                            join(reasons, "; ")));
}

Result<AdapterRack::Outcome> AdapterRack::stack_for(const AdapterOrder& order) {
  if (order.adapters.empty()) {
    current_.reset();
    current_key_.clear();
    drop_unused();
    return Outcome{};
  }
  const auto start = std::chrono::steady_clock::now();
  const adapt::Library library(options_.directory, options_.reach);
  VENEER_TRY(candidates,
             candidates_of(order,
                           [&](const std::string& name,
                               const adapt::LowerOptions& options) -> Result<std::shared_ptr<const adapt::Fitted>> {
                             VENEER_TRY(path, library.find(name));
                             VENEER_TRY(adapter, open(path));
                             return fitted(std::move(adapter), options);
                           }));
  VENEER_TRY(chosen, accept(std::move(candidates), log_, "the picture is made without it"));
  const std::string key = key_of(order, chosen.entries);
  if (!current_ || key != current_key_) {
    adapt::StackOptions options{
        order.combine, order.mode, order.policy, {options_.folds, options_.folds && !options_.strict}};
    VENEER_TRY(stack, adapt::build_stack(chosen.entries, stack_parts(model_, device_), options));
    current_ = std::move(stack);
    current_key_ = key;
  }
  drop_unused();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  tell(*current_, took.count(), chosen.warnings);
  for (const std::string& warning : chosen.warnings) log_.warn(warning);
  return Outcome{current_, std::move(chosen.warnings)};
}

}  // namespace veneer::pipeline
