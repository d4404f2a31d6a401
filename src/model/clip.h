// The text encoder of CLIP (Radford et al. 2021): a causal transformer over 77 positions.
#pragma once

#include "io/model_files.h"
#include "model/parts.h"

namespace veneer::model {

// The vector that stands for a whole text, taken at its end token behind the last layer and the final norm.
enum class ClipPooled {
  kNone,       // not wanted; the projection is a layer where the file has one
  kLast,       // as it is, [width]
  kProjected,  // under the text projection, which must be there
};

// `part` in any spelling (clip_names.h). The activation and the number of heads come from config.json where there is
// one; else heads are 64 wide, and a width of 768 means quick GELU. The end token is the configuration's, else the last
// of the vocabulary. Errors: bad_file, mismatch.
Result<std::unique_ptr<TextEncoder>> build_clip(const io::ModelPart& part, const std::string& component,
                                                ClipPooled pooled = ClipPooled::kNone);

}  // namespace veneer::model
