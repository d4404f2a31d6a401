// Weights held in another number format than their files have: decoded, encoded by type rules, and kept in memory. The
// files are not touched, and what no rule asks for stays mapped from them.
#pragma once

#include "io/model_files.h"
#include "io/type_rules.h"
#include "pipeline/rule_use.h"

namespace veneer::pipeline {

struct Held {
  io::ModelFiles files;  // as they were opened, with the weights that are held
  RuleUse use;
  uint64_t bytes = 0;  // of weights that are now in memory of their own
};

// Any type that can be encoded can be held: every device decodes all of them. Errors: bad_file naming the tensor for
// values that the type cannot hold; no_memory.
Result<Held> hold_as(io::ModelFiles files, const io::TypeRules& rules, int threads);

}  // namespace veneer::pipeline
