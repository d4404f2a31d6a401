// The tables of CLIP's byte-pair encoding, read from a Hugging Face tokenizer folder or from CLIP's own merge list.
// Knows the files and refuses inconsistent ones; knows nothing about text (clip_tokenizer.h).
//
// Words are made of symbols. There are 512 to begin with, one per byte value and one per byte value at the end of a
// word (written with "</w>"); each line of a merge list joins two symbols into a new one.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <unordered_map>

#include "core/result.h"

namespace veneer::text {

struct Merge {
  int32_t rank = 0;  // place in the merge list; the lowest rank is applied first
  int32_t id = 0;    // of the joined symbol
};

struct ClipVocabulary {
  std::array<int32_t, 256> byte_ids{};       // inside a word
  std::array<int32_t, 256> last_byte_ids{};  // at the end of a word
  // By pair_key(left, right). Every part of a merge is made by a merge of lower rank, and no symbol is made twice;
  // hence a join only ever creates pairs of higher rank, on which the tokenizer relies.
  std::unordered_map<uint64_t, Merge> merges;
  int32_t start_id = 0;  // of <|startoftext|>
  int32_t end_id = 0;    // of <|endoftext|>
  int32_t pad_id = 0;    // the pad token the folder names; end_id where it names none
  int32_t size = 0;      // all ids are below
};

inline uint64_t pair_key(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

inline constexpr const char* kStartText = "<|startoftext|>";
inline constexpr const char* kEndText = "<|endoftext|>";

// Reads vocab.json (text to id), merges.txt, and the pad token from special_tokens_map.json or tokenizer_config.json.
// Errors: not_found and io; bad_file, with the line of merges.txt or the entry of vocab.json, when a file is malformed,
// too large, or the two do not belong together.
Result<ClipVocabulary> read_clip_folder(const std::filesystem::path& folder);

// Reads the merge list published with CLIP (bpe_simple_vocab_16e6.txt, plain or gzip), from which all 49408 ids follow:
// 256 byte symbols, 256 final ones, the first 48894 merges in order, <|startoftext|>, <|endoftext|>.
// Errors: as above; bad_file also when there are fewer merges.
Result<ClipVocabulary> read_clip_merge_list(const std::filesystem::path& file);

}  // namespace veneer::text
