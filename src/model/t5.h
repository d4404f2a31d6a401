// The encoder half of T5 version 1.1 (Raffel et al. 2020; Shazeer 2020 for its gated feed-forward layers): every token
// sees every other, and attention knows positions only by a learned bias that depends on their distance.
#pragma once

#include "io/model_files.h"
#include "model/name_map.h"
#include "model/parts.h"

namespace veneer::model {

// The row of the table of biases for a key that lies `distance` tokens behind the query: 16 rows for each direction,
// exact below 8 tokens, then growing by the logarithm up to 128.
int32_t t5_bucket(int64_t distance);

// From the spelling of GGUF files to the canonical one, which is that of Hugging Face.
NameMap t5_names(const NameSet& names);

// `part` in either spelling. Heads come from the table of biases. Errors: bad_file, mismatch, unsupported for version
// 1.0, whose feed-forward layers are plain.
Result<std::unique_ptr<TextEncoder>> build_t5(const io::ModelPart& part, const std::string& component);

}  // namespace veneer::model
