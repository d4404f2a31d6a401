// T5's tokenizer: text to ids by the most probable segmentation into pieces (the unigram model of Kudo 2018), as the
// sentencepiece library does it. Text never becomes a control id: "</s>" in a prompt is four characters. Knows nothing
// about prompts, weights or lengths.
//
// Rules: characters are replaced by the model's own map; blanks are stripped from both ends and joined, each is written
// as U+2581, and one is put in front. Then the path of pieces with the largest sum of scores is taken; a character that
// is no piece by itself may also be unknown, at 10 below the lowest score, and neighbours that are unknown become one
// <unk>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "text/t5_vocabulary.h"

namespace veneer::text {

// Immutable after loading; any thread may use it.
class T5Tokenizer {
 public:
  explicit T5Tokenizer(T5Vocabulary vocabulary);
  // Errors: those of read_t5_vocabulary.
  static Result<T5Tokenizer> load(const std::filesystem::path& folder_or_file);

  // The ids of a text, without </s> and padding; none for an empty text. Errors: usage for text that is not UTF-8
  // (naming the byte) or longer than kMaxTextBytes (unicode.h).
  Result<std::vector<int32_t>> encode(std::string_view text) const;

  int32_t end_id() const { return vocabulary_.end_id; }
  int32_t pad_id() const { return vocabulary_.pad_id; }
  int32_t vocabulary_size() const { return vocabulary_.size; }  // all ids are below

 private:
  T5Vocabulary vocabulary_;
  float unknown_score_ = 0;
};

}  // namespace veneer::text
