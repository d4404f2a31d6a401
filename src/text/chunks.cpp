// Cutting of tokens into chunks.
#include "text/chunks.h"

#include <algorithm>
#include <optional>

#include "core/format.h"
#include "text/unicode.h"

namespace veneer::text {
namespace {

struct Token {
  int32_t id = 0;
  float weight = 1.0f;
};

Chunk frame(std::span<const Token> tokens, const ClipTokenizer& tokenizer, int32_t pad_id) {
  VENEER_CHECK(tokens.size() <= kChunkTokens);
  Chunk chunk;
  chunk.ids.fill(pad_id);
  chunk.weights.fill(1.0f);
  chunk.ids[0] = tokenizer.start_id();
  for (size_t i = 0; i < tokens.size(); ++i) {
    chunk.ids[i + 1] = tokens[i].id;
    chunk.weights[i + 1] = tokens[i].weight;
  }
  chunk.ids[tokens.size() + 1] = tokenizer.end_id();
  return chunk;
}

// Collects tokens. A full chunk is closed only when the next token arrives, since that token may pull the words behind
// the last comma over with it.
class ChunkBuilder {
 public:
  ChunkBuilder(const ClipTokenizer& tokenizer, const ChunkOptions& options, std::optional<int32_t> comma_id)
      : tokenizer_(tokenizer), options_(options), comma_id_(comma_id) {}

  void add_token(Token token) {
    const bool is_comma = comma_id_ && token.id == *comma_id_;
    if (open_.size() == kChunkTokens) {
      // A comma that opens the next chunk leaves the full one as it is.
      if (is_comma)
        close();
      else
        close_at_comma();
    }
    if (is_comma) behind_comma_ = open_.size() + 1;
    push(token);
  }

  void add_block(const ExtraWord& word, float weight) {
    if (open_.size() == kChunkTokens) close_at_comma();
    if (open_.size() + static_cast<size_t>(word.rows) > kChunkTokens) close();
    for (int32_t row = 0; row < word.rows; ++row) push({word.first_id + row, weight});
  }

  void close() {
    result_.chunks.push_back(frame(open_, tokenizer_, options_.pad_id));
    open_.clear();
    behind_comma_.reset();
  }

  ChunkedPrompt finish() && {
    if (!open_.empty() || result_.chunks.empty()) close();
    return std::move(result_);
  }

 private:
  void push(Token token) {
    open_.push_back(token);
    ++result_.tokens;
  }

  // Closes the open, full chunk behind its last comma, if that is near enough, and carries the rest over.
  void close_at_comma() {
    std::vector<Token> carried;
    if (behind_comma_ && open_.size() - (*behind_comma_ - 1) <= static_cast<size_t>(options_.comma_backtrack)) {
      carried.assign(open_.begin() + static_cast<std::ptrdiff_t>(*behind_comma_), open_.end());
      open_.resize(*behind_comma_);
    }
    close();
    open_ = std::move(carried);
  }

  const ClipTokenizer& tokenizer_;
  const ChunkOptions& options_;
  std::optional<int32_t> comma_id_;
  std::vector<Token> open_;             // the chunk being filled
  std::optional<size_t> behind_comma_;  // place in open_ right after its last comma
  ChunkedPrompt result_;
};

// Where an extra word occurs in a text; `word` is null when none does.
struct Occurrence {
  const ExtraWord* word = nullptr;
  size_t begin = 0;
  size_t bytes = 0;
};

// The first occurrence of any word; of several at the same place the longest.
Occurrence find_extra_word(std::string_view text, std::span<const ExtraWord> words) {
  Occurrence best;
  for (size_t begin = 0; begin < text.size() && !words.empty(); ++begin) {
    if (!is_word_border(text, begin)) continue;
    for (const ExtraWord& word : words) {
      const size_t bytes = prefix_ignoring_case(text.substr(begin), word.word);
      if (bytes > best.bytes && is_word_border(text, begin + bytes)) best = {&word, begin, bytes};
    }
    if (best.word) return best;
  }
  return best;
}

Status add_piece(const PromptPiece& piece, const ClipTokenizer& tokenizer, std::span<const ExtraWord> words,
                 ChunkBuilder& builder) {
  const auto weight = static_cast<float>(piece.weight);
  for (std::string_view rest = piece.text; !rest.empty();) {
    const Occurrence occurrence = find_extra_word(rest, words);
    const size_t plain = occurrence.word ? occurrence.begin : rest.size();
    VENEER_TRY(ids, tokenizer.encode(rest.substr(0, plain)));
    for (const int32_t id : ids) builder.add_token({id, weight});
    if (occurrence.word) builder.add_block(*occurrence.word, weight);
    rest.remove_prefix(plain + occurrence.bytes);
  }
  return {};
}

Status check_extra_words(std::span<const ExtraWord> words) {
  for (const ExtraWord& word : words) {
    if (word.word.empty()) return Error{ErrorCode::kUsage, "embedding: its word is empty; give its file a name", ""};
    if (word.rows < 1 || static_cast<size_t>(word.rows) > kChunkTokens)
      return Error{ErrorCode::kUsage,
                   concat("embedding ", word.word, ": has ", word.rows, " rows, a chunk takes 1 to ", kChunkTokens),
                   word.word};
  }
  return {};
}

}  // namespace

bool mentions(const Prompt& prompt, std::string_view word) {
  const ExtraWord words[] = {{std::string(word)}};
  for (const PromptSection& section : prompt)
    for (const PromptPiece& piece : section)
      if (find_extra_word(piece.text, words).word) return true;
  return false;
}

Result<ChunkedPrompt> chunk_prompt(const Prompt& prompt, const ClipTokenizer& tokenizer, const ChunkOptions& options) {
  VENEER_TRY_STATUS(check_extra_words(options.extra_words));
  std::optional<int32_t> comma_id;
  if (options.comma_backtrack > 0) {
    VENEER_TRY(ids, tokenizer.encode(","));
    comma_id = ids.front();
  }
  ChunkBuilder builder(tokenizer, options, comma_id);
  for (size_t section = 0; section < prompt.size(); ++section) {
    if (section > 0) builder.close();
    for (const PromptPiece& piece : prompt[section])
      VENEER_TRY_STATUS(add_piece(piece, tokenizer, options.extra_words, builder));
  }
  return std::move(builder).finish();
}

void match_chunk_counts(ChunkedPrompt& a, ChunkedPrompt& b, const ClipTokenizer& tokenizer, int32_t pad_id) {
  const size_t count = std::max(a.chunks.size(), b.chunks.size());
  const Chunk empty = frame({}, tokenizer, pad_id);
  a.chunks.resize(count, empty);
  b.chunks.resize(count, empty);
}

}  // namespace veneer::text
