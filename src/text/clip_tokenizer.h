// CLIP's tokenizer: text to ids by byte-pair encoding, as the tokenizers library of Hugging Face does it (no repair of
// broken text, no un-escaping of HTML). Knows nothing about prompts, weights or chunks.
//
// Rules: the exact strings <|startoftext|> and <|endoftext|> become their ids and cut the text. Each part is brought to
// NFC and lower-cased, then split into pieces: the contractions 's 't 're 've 'm 'll 'd, runs of letters, single number
// characters, runs of anything else that is not white space. A piece's UTF-8 bytes become symbols, the last one marked
// as final, and the pair of lowest rank is joined until no neighbours can be joined.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "text/clip_vocabulary.h"

namespace veneer::text {

// Immutable after loading; any thread may use it.
class ClipTokenizer {
 public:
  explicit ClipTokenizer(ClipVocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  // Errors: those of read_clip_folder and read_clip_merge_list.
  static Result<ClipTokenizer> load_folder(const std::filesystem::path& folder);
  static Result<ClipTokenizer> load_merge_list(const std::filesystem::path& file);

  // The ids of a text, without start, end and padding. Errors: usage for text that is not UTF-8 (naming the byte) or
  // longer than kMaxTextBytes (unicode.h).
  Result<std::vector<int32_t>> encode(std::string_view text) const;

  int32_t start_id() const { return vocabulary_.start_id; }
  int32_t end_id() const { return vocabulary_.end_id; }
  int32_t pad_id() const { return vocabulary_.pad_id; }
  int32_t vocabulary_size() const { return vocabulary_.size; }

 private:
  ClipVocabulary vocabulary_;
};

}  // namespace veneer::text
