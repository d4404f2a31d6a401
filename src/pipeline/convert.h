// Converting a model's files to other number formats, another container or other names. Tensors that no rule asks to
// change are copied byte for byte. The networks are not needed: any file of tensors can be converted.
#pragma once

#include <filesystem>
#include <functional>

#include "core/log.h"
#include "io/model_files.h"
#include "io/type_rules.h"
#include "pipeline/convert_changes.h"
#include "pipeline/session.h"

namespace veneer::pipeline {

struct ConvertOptions {
  io::ModelPaths paths;          // the tiny autoencoder and tokenizer options are not used
  std::filesystem::path output;  // .safetensors, .gguf, or a folder (no extension, or one that exists)
  io::TypeRules rules;           // none: every tensor keeps its type
  bool canonical_names = false;  // original names with the parts' prefixes; else names as they are
  int threads = 0;               // that encode; <= 0: physical cores
};

// Bytes of the source that are done, on any thread, one call at a time.
using ConvertProgress = std::function<void(uint64_t done, uint64_t total)>;

// Reads the model and writes it anew, under a temporary name until it is whole. At most 1 GiB is in work at a time,
// unless a single weight of a form with scales takes more. Returns the report:
// {"output", "tensors", "bytes_before", "bytes_after",
//  "types": [{"type", "tensors", "bytes_before", "bytes_after", "relative_error"}, ...],  converted ones, by target
//  "copied": [{"type", "tensors", "bytes"}, ...], "rules": [{"rule", "type", "matched", "converted", "left": {why:
//  n}}], "non_finite": [{"tensor", "values"}], "warnings": [text]}
// relative_error is that added here: root mean square of the differences over that of the values.
// Errors: usage (a type that the output cannot hold, an output that is the input), those of opening; unsupported (a
// tensor that the output cannot hold), bad_file (values that the type cannot hold, naming the tensor), io, cancelled.
// With `changes` also: unsupported (a changed weight whose type is only read), and what approve says.
Result<Json> convert(const ConvertOptions& options, const Log& log, const ConvertProgress& progress,
                     const CancelFlag& cancel, const ConvertChanges* changes = nullptr);

}  // namespace veneer::pipeline
