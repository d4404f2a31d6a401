// The text encoder of CLIP (Radford et al. 2021): a causal transformer over 77 positions.
#pragma once

#include "io/model_files.h"
#include "model/name_map.h"
#include "model/parts.h"

namespace veneer::model {

// Very old checkpoints and the newest library leave out the leading "text_model.": from such names to the canonical
// ones.
NameMap clip_names(const NameSet& names);

// `part` in the Hugging Face spelling, with or without the leading "text_model.". The activation and the number of
// heads come from config.json where there is one; else heads are 64 wide, and a width of 768 means quick GELU. Errors:
// bad_file, mismatch.
Result<std::unique_ptr<TextEncoder>> build_clip(const io::ModelPart& part, const std::string& component);

}  // namespace veneer::model
