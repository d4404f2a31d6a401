// What model files hold, as data: family, parts, number formats, sizes. Told from names and shapes; of the weights only
// biases and norm vectors are read.
#pragma once

#include <span>

#include "core/json.h"
#include "io/model_files.h"
#include "model/model.h"

namespace veneer::pipeline {

// {"tensors", "parameters", "bytes", "held_bytes", "types": {"f16": {"tensors", "parameters", "bytes"}, ...},
// "storage": {the same by storage_words}} of all stores together; bytes are those stored, side tensors included. Held
// are matrices and kernels as stored, and vectors in float32. Types are the number formats' names, or the file's word
// for what is no weight ("I64").
Json describe_weights(std::span<const io::WeightStore* const> stores);

// {"name", "family", "supported", "parts": [{"part", "source", as above, "unused_tensors": [names]}, ...], "tokenizer",
// "markers", "ignored_tensors", "unused_tensors": [names of no part], "warnings"}; "family" is null when there is no
// denoiser or its shapes fit none that is known. A part without a network among `networks` has null for its unused
// tensors.
Json describe_model(const io::ModelFiles& files, std::span<const model::Model::NamedNetwork> networks);

// The same for files that need not be a whole model: each part's network is built where that is possible, and "problem"
// says of a part why it is not.
Json describe_files(const io::ModelFiles& files);

}  // namespace veneer::pipeline
