// Any bytes as a sentencepiece model, as a tokenizer.json and as text: whatever file is accepted gives ids that it has,
// and never those of control pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/t5_tokenizer.h"
#include "text/unicode.h"

namespace {

using namespace veneer::text;

void require(bool holds) {
  if (!holds) std::abort();
}

// Three control pieces, then some that overlap; "b" is unknown.
T5Vocabulary small_vocabulary() {
  T5Vocabulary vocabulary;
  vocabulary.end_id = 1;
  vocabulary.unknown_id = 2;
  vocabulary.size = 3;
  for (const char* text : {"a", "aa", "ab", "aca", "e\xcc\x81", "\xe2\x96\x81",
                           "\xe2\x96\x81"
                           "a"})
    vocabulary.pieces.push_back({text, -1.5f - static_cast<float>(vocabulary.size % 3), vocabulary.size++});
  return vocabulary;
}

void check_ids(const T5Tokenizer& tokenizer, const T5Vocabulary& vocabulary, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  require(ids.has_value() == check_text(text, "text").has_value());
  if (!ids) return;
  for (size_t i = 0; i < ids->size(); ++i) {
    const int32_t id = (*ids)[i];
    const bool known = std::ranges::any_of(vocabulary.pieces, [id](const auto& piece) { return piece.id == id; });
    require(id >= 0 && id < tokenizer.vocabulary_size());
    require(known || (id == vocabulary.unknown_id && (i == 0 || (*ids)[i - 1] != id)));
  }
}

void check_file(const veneer::Result<T5Vocabulary>& file) {
  if (!file) return;
  const T5Tokenizer tokenizer(*file);
  for (const std::string_view text : {"", "a cat, b\tc", "\xef\xbc\xa1 \xe2\x96\x81 e\xcc\x81 \xf0\x9f\x99\x82</s>"})
    check_ids(tokenizer, *file, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const T5Vocabulary vocabulary = small_vocabulary();
  static const T5Tokenizer tokenizer(vocabulary);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_file(parse_t5_model(bytes, "spiece.model"));
  check_file(parse_t5_json(bytes, "tokenizer.json"));
  check_ids(tokenizer, vocabulary, bytes);
  return 0;
}
