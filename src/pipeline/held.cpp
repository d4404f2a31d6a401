// Re-encoding of a model's parts.
#include "pipeline/held.h"

#include "model/original_names.h"
#include "pipeline/workers.h"

namespace veneer::pipeline {
namespace {

struct Job {
  io::Entry* entry;  // in the part's new entries
  io::TargetType type;
};

Status hold(const Job& job) {
  const codec::Weight& weight = job.entry->weight;
  auto encoded = codec::encode(job.type.form, weight.decode_all(), weight.shape, weight.name);
  if (!encoded) return std::move(encoded).error();
  job.entry->type_name = codec::stored_tensors(job.type.form, weight.shape).front().type;
  job.entry->weight = codec::decodable(job.type.form, *std::move(encoded), weight.shape, weight.name);
  return {};
}

}  // namespace

Result<Held> hold_as(io::ModelFiles files, const io::TypeRules& rules, int threads) {
  Held held{std::move(files), RuleUse(rules), 0};
  if (rules.empty()) return held;
  std::map<io::Part, io::WeightStore::Entries> all;
  std::vector<Job> jobs;
  for (const auto& [part, content] : held.files.parts) {
    const model::OriginalNames names(part, model::names_of(content.weights));
    io::WeightStore::Entries& entries = all[part] = content.weights.entries();
    for (auto& [name, entry] : entries) {
      io::TypeRules::Decision decision = rules.decide(names(name), entry);
      held.use.count(decision);
      if (decision.converts()) jobs.push_back({&entry, std::move(decision.type)});
    }
  }
  VENEER_TRY_STATUS(on_threads(threads, jobs.size(), [&jobs](size_t i) { return hold(jobs[i]); }));
  for (const Job& job : jobs) held.bytes += job.entry->weight.stored_bytes();
  for (auto& [part, content] : held.files.parts)
    content.weights = {std::move(all[part]), content.weights.metadata(), content.weights.files()};
  return held;
}

}  // namespace veneer::pipeline
