// How often each type rule matched, and why tensors that it matched stayed as they are; for reports.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "io/type_rules.h"

namespace veneer::pipeline {

class RuleUse {
 public:
  RuleUse() = default;
  explicit RuleUse(const io::TypeRules& rules);

  void count(const io::TypeRules::Decision& decision);

  // [{"rule": PATTERN or null for the type for all, "type", "matched", "converted", "left": {why: tensors}}]
  Json to_json() const;
  // One for each rule that matches nothing.
  std::vector<std::string> warnings() const;

 private:
  struct Row {
    std::string pattern;  // empty: the type for all
    std::string type;
    int64_t matched = 0, converted = 0;
    std::map<io::KeepReason, int64_t> left;
  };
  std::vector<Row> rows_;  // the rules, then the type for all
};

}  // namespace veneer::pipeline
