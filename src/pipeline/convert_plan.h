// What becomes of each tensor in a conversion: the files that will be written with all their tensors, and the work that
// fills them. Reads no value, but the low-rank factors that a change joins.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/tensor_file.h"
#include "pipeline/convert.h"
#include "pipeline/convert_input.h"
#include "pipeline/convert_metadata.h"
#include "pipeline/rule_use.h"

namespace veneer::pipeline {

// By the name of the output. Errors: usage for an extension that is neither.
Result<ConvertTarget> convert_target(const std::filesystem::path& output);

// Errors: usage for a type that the target has no place for, whichever tensors it is asked for.
Status check_target_types(const io::TypeRules& rules, ConvertTarget target);

// A weight to be encoded, or a tensor whose bytes are copied.
struct ConvertJob {
  const io::Entry* entry = nullptr;
  std::optional<io::TargetType> type;    // empty: copied
  size_t first = 0;                      // the tensors in the file's plan that it fills; the bytes of a copy fill one
  const WeightChange* change = nullptr;  // of the values; a copy has none
};

// One file to be written.
struct ConvertFile {
  std::filesystem::path path;  // relative to the output folder, or the output itself
  std::vector<io::TensorPlan> tensors;
  std::vector<ConvertJob> jobs;
  io::FileLayout layout;
  Json config;                                         // of the component in a folder, or null
  std::vector<std::shared_ptr<const io::Entry>> made;  // those of the jobs that do not lie in the source
};

struct ConvertPlan {
  ConvertTarget target;
  std::vector<ConvertFile> files;
  RuleUse use;
};

// Errors: unsupported for a folder out of single files, and for a tensor that it cannot hold and that no rule
// brings into another type; bad_file for two tensors of one name.
// `changes` may be null.
Result<ConvertPlan> plan_conversion(const ConvertInput& input, const ConvertOptions& options, ConvertTarget target,
                                    const ConvertChanges* changes);

}  // namespace veneer::pipeline
