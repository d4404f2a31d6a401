// Textual inversions: files that hold vectors for a word, which take the place of the word's own rows in the token
// embedding of a text encoder. Reads the files of every trainer; knows no prompt and no model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "adapt/key_group.h"
#include "core/files.h"

namespace veneer::adapt {

struct Embedding {
  std::string word;             // compared with prompts without regard to case
  std::string source;           // its file, for messages
  std::vector<Tensor> vectors;  // [count, width], for one text encoder each

  // The vectors for a text encoder of this width, or null. The width alone tells encoders apart.
  const Tensor* of_width(int64_t width) const;
};

// A stored tensor as [count, width]; one dimension is one vector. Errors: mismatch for other shapes; as_tensor's.
Result<Tensor> vectors_of(const KeyPart& part);

// Opens any container by its content; the word is the file's name without its extension. Which tensors are vectors:
//   string_to_param.*              the textual inversion project and the A1111 web UI
//   emb_params, clip_l, clip_g     the same in newer files, by text encoder
//   the only tensor of the file    diffusers, under the token that it was trained with
// Errors: as io::open_weights has them; mismatch for a file that is no embedding; bad_file for values that are not
// finite; all name the file.
Result<Embedding> open_embedding(const std::filesystem::path& path, MappedFile::Mode mode = MappedFile::Mode::kMap);

// The files directly inside the folder that can be embeddings, by their extensions; sorted. Errors: not_found.
Result<std::vector<std::filesystem::path>> embedding_files(const std::filesystem::path& directory);

}  // namespace veneer::adapt
