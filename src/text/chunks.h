// Token chunks: a weighted prompt becomes rows of 77 ids, each with a weight, as a CLIP encoder takes them.
// Knows no encoder; applies no weight, it only carries them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "text/clip_tokenizer.h"
#include "text/prompt.h"

namespace veneer::text {

inline constexpr size_t kChunkTokens = 75;              // tokens of the prompt in a chunk
inline constexpr size_t kChunkRows = kChunkTokens + 2;  // with start and end

// start, up to 75 tokens, end, padding. Start, end and padding have weight 1.
struct Chunk {
  std::array<int32_t, kChunkRows> ids{};
  std::array<float, kChunkRows> weights{};
  bool operator==(const Chunk&) const = default;
};

struct ChunkedPrompt {
  std::vector<Chunk> chunks;  // at least one
  size_t tokens = 0;          // of the prompt itself, without start, end and padding
};

// A word that stands for rows of an embedding (textual inversion). Its occurrences become the ids first_id,
// first_id + 1, ...; the caller allots ids from the vocabulary's size upward and appends the rows to the embedding.
struct ExtraWord {
  std::string word;  // compared without regard to case; matches only between word borders
  int32_t first_id = 0;
  int32_t rows = 1;
};

struct ChunkOptions {
  int32_t pad_id = 0;       // fills a chunk behind its end token: the end id for CLIP-L, 0 for OpenCLIP
  int comma_backtrack = 0;  // when a chunk is full, what follows a comma at most this many tokens back moves on with it
  std::span<const ExtraWord> extra_words;
};

// Whether a word occurs in a prompt in such a way that, as an ExtraWord, it would be replaced.
bool mentions(const Prompt& prompt, std::string_view word);

// A BREAK ends the chunk; one at the very end of a prompt adds none. An empty prompt is one chunk. The rows of an extra
// word stay in one chunk.
// Errors: those of ClipTokenizer::encode; usage for an extra word that is empty or whose rows do not fit a chunk.
Result<ChunkedPrompt> chunk_prompt(const Prompt& prompt, const ClipTokenizer& tokenizer, const ChunkOptions& options);

// Appends empty chunks to the shorter of two prompts (positive and negative), so that both encode to the same length.
// All are to be chunked with the same tokenizer and pad id.
void match_chunk_counts(ChunkedPrompt& a, ChunkedPrompt& b, const ClipTokenizer& tokenizer, int32_t pad_id);

}  // namespace veneer::text
