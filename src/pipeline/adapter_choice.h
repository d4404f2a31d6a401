// Which adapters of an order take part, whoever opens and fits them: the rack of a session, or a command that only
// looks. What a policy makes of missing, broken and partly fitting files is decided here alone.
#pragma once

#include <functional>
#include <memory>

#include "adapt/stack.h"
#include "core/log.h"
#include "model/model.h"
#include "pipeline/request.h"

namespace veneer::pipeline {

// An adapter of an order as the model sees it.
struct Candidate {
  adapt::StackEntry entry;
  adapt::Verdict verdict;
};

struct Candidates {
  std::vector<Candidate> all;
  std::vector<Error> missing;  // files that a lenient order goes on without
};

// Finds, opens and fits one adapter. Errors: as Library::find, open_adapter and fit have them.
using FitAdapter =
    std::function<Result<std::shared_ptr<const adapt::Fitted>>(const std::string& name, const adapt::LowerOptions&)>;

// All adapters of the order, judged by its policy. Errors: those of `fit`, but for files that the lenient do without;
// usage for block weights.
Result<Candidates> candidates_of(const AdapterOrder& order, const FitAdapter& fit);

struct Accepted {
  std::vector<adapt::StackEntry> entries;
  std::vector<std::string> warnings;
};

// Those that take part, with all warnings; one about a missing file begins with `without_it`, which says what happens
// instead. Files that apply whole are told to the log. Errors: the first that a verdict has.
Result<Accepted> accept(Candidates candidates, const Log& log, std::string_view without_it);

// The parts that overlays are made for; all compute on `device`.
std::vector<adapt::StackPart> stack_parts(const model::Model& model, const device::Device& device);

}  // namespace veneer::pipeline
