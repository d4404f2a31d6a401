// Any bytes as text for the tokenizer: the ids, spelled out again, are the normalised text without its white space.
// Then the same bytes as a prompt in chunks, with a word that stands for rows of an embedding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/chunks.h"
#include "text/clip_tokenizer.h"
#include "text/unicode.h"

namespace {

using namespace veneer::text;

constexpr int32_t kFirstMerge = 512, kMerges = 200, kStart = kFirstMerge + kMerges, kEnd = kStart + 1;

void require(bool holds) {
  if (!holds) std::abort();
}

// Byte b is symbol b, and b + 256 at the end of a word. Merge k joins two symbols made before it, so that all forms
// occur: doubles of letters, joins of joins, joins with a final symbol.
struct Tables {
  ClipVocabulary vocabulary;
  std::vector<std::string> spelling;  // of each id
  Tables() {
    for (int32_t b = 0; b < 256; ++b) {
      vocabulary.byte_ids[static_cast<size_t>(b)] = b;
      vocabulary.last_byte_ids[static_cast<size_t>(b)] = b + 256;
    }
    for (int32_t id = 0; id < kFirstMerge; ++id) spelling.emplace_back(1, static_cast<char>(id % 256));
    for (int32_t k = 0; k < kMerges; ++k) {
      const int32_t left = k < 60 ? 'a' + k % 20 : kFirstMerge + k % 60;
      const int32_t right = (k < 60 ? 'a' + k / 20 : 'a' + k % 23) + (k % 2 == 0 ? 0 : 256);
      const bool added = vocabulary.merges.emplace(pair_key(left, right), Merge{k, kFirstMerge + k}).second;
      spelling.push_back(added ? spelling[static_cast<size_t>(left)] + spelling[static_cast<size_t>(right)] : "");
    }
    vocabulary.start_id = kStart;
    vocabulary.end_id = vocabulary.pad_id = kEnd;
    vocabulary.size = kEnd + 1;
    spelling.insert(spelling.end(), {kStartText, kEndText});
  }
};

std::string normalised(std::string_view text) {
  std::u32string lower;
  for (const char32_t c : to_nfc(text)) append_lower(c, lower);
  std::string out;
  for (const char32_t c : lower)
    if (!is_white_space(c)) append_utf8(c, out);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tables tables;
  static const ClipTokenizer tokenizer(tables.vocabulary);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ids = tokenizer.encode(text);
  require(ids.has_value() == check_text(text, "text").has_value());
  if (!ids) return 0;
  std::string spelled;
  bool special = false;
  for (const int32_t id : *ids) {
    require(id >= 0 && id <= kEnd);
    special = special || id >= kStart;
    spelled += tables.spelling[static_cast<size_t>(id)];
  }
  require(special || spelled == normalised(text));

  const ExtraWord extra[] = {{"cat", kEnd + 1, 5}};
  const auto prompt = parse_prompt(text);
  require(prompt.has_value());
  const auto chunked = chunk_prompt(*prompt, tokenizer, {.pad_id = 0, .comma_backtrack = 20, .extra_words = extra});
  require(chunked.has_value() && !chunked->chunks.empty());
  require(chunked->tokens <= chunked->chunks.size() * kChunkTokens);
  return 0;
}
