// From an order to the entries of a stack.
#include "pipeline/adapter_choice.h"

#include "core/format.h"

namespace veneer::pipeline {
namespace {

// A picture without it is what the lenient ask for; a wrong option, a file that can not be read and memory that ran out
// are errors to all.
bool may_miss(const AdapterOrder& order, ErrorCode code) {
  return order.policy == adapt::Policy::kLenient && code != ErrorCode::kUsage && code != ErrorCode::kIo &&
         code != ErrorCode::kNoMemory;
}

}  // namespace

Result<Candidates> candidates_of(const AdapterOrder& order, const FitAdapter& fit) {
  Candidates candidates;
  for (const text::AdapterRequest& request : order.adapters) {
    VENEER_TRY(blocks, block_weights_of(request));
    adapt::LowerOptions options;
    options.dora = order.dora;
    options.rank_limit = request.dyn_rank.value_or(0);
    auto fitted = fit(request.name, options);
    if (!fitted && !may_miss(order, fitted.error().code)) return fitted.error();
    if (!fitted) {
      candidates.missing.push_back(std::move(fitted.error()));
      continue;
    }
    adapt::Verdict verdict = adapt::judge(**fitted, order.policy);
    candidates.all.push_back(
        {{*std::move(fitted), request.text_encoder_scale, request.denoiser_scale, std::move(blocks)},
         std::move(verdict)});
  }
  return candidates;
}

Result<Accepted> accept(Candidates candidates, const Log& log, std::string_view without_it) {
  Accepted accepted;
  for (const Error& error : candidates.missing) accepted.warnings.push_back(concat(without_it, ": ", error.message));
  for (Candidate& candidate : candidates.all) {
    const adapt::Verdict& verdict = candidate.verdict;
    if (verdict.error) return *verdict.error;
    accepted.warnings.insert(accepted.warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
    const adapt::AdapterAccount& account = candidate.entry.fitted->account;
    if (account.keys.applied == account.keys.total) log.info(adapt::count_line(account));
    if (!verdict.left_out) accepted.entries.push_back(std::move(candidate.entry));
  }
  return accepted;
}

std::vector<adapt::StackPart> stack_parts(const model::Model& model, const device::Device& device) {
  std::vector<adapt::StackPart> parts;
  for (const auto& [part, network] : model.networks()) parts.push_back({part, &network->layers(), &device});
  return parts;
}

}  // namespace veneer::pipeline
