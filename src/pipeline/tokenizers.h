// The tokenizers that a model's text encoders need, from its own files or the program's data.
#pragma once

#include <optional>

#include "model/model.h"
#include "text/clip_tokenizer.h"
#include "text/t5_tokenizer.h"

namespace veneer::pipeline {

struct Tokenizers {
  std::optional<text::ClipTokenizer> clip;  // when the model has a CLIP encoder
  std::optional<text::T5Tokenizer> t5;      // when it has a T5 encoder
};

// A model that carries a tokenizer brings its own; single files carry none and use CLIP's published vocabulary, which
// lies in `data_dir`; T5's must be given. Errors: not_found, bad_file; mismatch for a tokenizer whose ids an encoder
// does not have.
Result<Tokenizers> load_tokenizers(const io::ModelFiles& files, const model::Model& model,
                                   const std::filesystem::path& data_dir);

}  // namespace veneer::pipeline
