// Counting of decisions.
#include "pipeline/rule_use.h"

#include "core/format.h"

namespace veneer::pipeline {

RuleUse::RuleUse(const io::TypeRules& rules) {
  for (const auto& rule : rules.rules()) rows_.push_back({rule.pattern, rule.type.name, 0, 0, {}});
  if (rules.for_all()) rows_.push_back({"", rules.for_all()->name, 0, 0, {}});
}

void RuleUse::count(const io::TypeRules::Decision& decision) {
  if (decision.rule == io::TypeRules::kNoMatch) return;
  Row& row = decision.rule == io::TypeRules::kForAll ? rows_.back() : rows_[static_cast<size_t>(decision.rule)];
  ++row.matched;
  if (decision.converts())
    ++row.converted;
  else
    ++row.left[decision.keep];
}

Json RuleUse::to_json() const {
  Json json = Json::array();
  for (const Row& row : rows_) {
    Json left = Json::object();
    for (const auto& [reason, count] : row.left) left[std::string(io::words_for(reason))] = count;
    json.push_back({{"rule", row.pattern.empty() ? Json() : Json(row.pattern)},
                    {"type", row.type},
                    {"matched", row.matched},
                    {"converted", row.converted},
                    {"left", std::move(left)}});
  }
  return json;
}

std::vector<std::string> RuleUse::warnings() const {
  std::vector<std::string> warnings;
  for (const Row& row : rows_)
    if (row.matched == 0 && !row.pattern.empty())
      warnings.push_back(concat("--tensor-type-rules: \"", row.pattern, "\" matches no tensor"));
  return warnings;
}

}  // namespace veneer::pipeline
