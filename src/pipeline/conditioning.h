// From prompts to what the denoiser is conditioned on.
#pragma once

#include "model/parts.h"
#include "pipeline/request.h"
#include "text/chunks.h"

namespace veneer::pipeline {

struct Conditioning {
  Tensor
      states;  // [2, tokens, width]: with the prompt, without (the negative prompt); [1, ...] when only one is needed
  size_t chunks = 0;
  size_t prompt_tokens = 0, negative_tokens = 0;
};

struct PromptPair {
  text::Prompt prompt, negative;
};

// Words that stand for rows beside the token embedding's own.
struct ExtraTokens {
  std::vector<text::ExtraWord> words;
  Tensor rows;  // [n, width], for ids from the encoder's vocabulary() on; empty without words
};

// A prompt pair as chunks of tokens, of one length, checked against the encoder.
struct TokenizedPrompts {
  std::vector<std::vector<int32_t>> prompt, negative;  // ids of each chunk
  std::vector<std::vector<float>> prompt_weights, negative_weights;
  size_t prompt_tokens = 0, negative_tokens = 0;
  Tensor extra_rows;  // ExtraTokens::rows
};

// Errors: usage (not UTF-8, naming the byte).
Result<PromptPair> parse_prompts(std::string_view prompt, std::string_view negative);

// Errors: those of text::chunk_prompt.
Result<TokenizedPrompts> tokenize(const text::ClipTokenizer& tokenizer, const PromptPair& prompts,
                                  const ExtraTokens& extra);

// Encodes every chunk and lays them one after another. The hidden state of a token is multiplied by its weight and the
// chunk brought back to its mean; with all weights 1 nothing is touched.
Conditioning encode_prompts(nn::Context& context, const model::TextEncoder& encoder, const TokenizedPrompts& prompts,
                            int64_t skip, bool with_negative);

// hidden [rows, width] *= weight of its row, then scaled so that the mean over all elements is what it was.
void apply_token_weights(std::span<float> hidden, std::span<const float> weights);

}  // namespace veneer::pipeline
