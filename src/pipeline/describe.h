// What model files hold, as data: family, parts, number formats, sizes. Told from names and shapes; no weight is read.
#pragma once

#include <span>

#include "core/json.h"
#include "io/model_files.h"

namespace veneer::pipeline {

// {"tensors", "parameters", "bytes", "types": {"f16": {"tensors", "parameters", "bytes"}, ...}} of all stores together;
// bytes are those stored; types are the number formats' names, or the file's word for what is no weight ("I64").
Json describe_weights(std::span<const io::WeightStore* const> stores);

// {"name", "family", "supported", "parts": [{"part", "source", and as above}, ...], "tokenizer", "markers",
// "ignored_tensors", "unused_tensors": [names], "warnings"}; "family" is null when there is no denoiser or its shapes
// fit none that is known.
Json describe_model(const io::ModelFiles& files);

}  // namespace veneer::pipeline
