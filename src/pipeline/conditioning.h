// From prompts to what the denoiser is conditioned on: tokens for every text encoder, its states, and the family's
// joining of them (model/conditioner.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/model.h"
#include "pipeline/memory.h"
#include "pipeline/tokenizers.h"
#include "text/chunks.h"

namespace veneer::pipeline {

struct Conditioning {
  model::Condition prompt;
  std::optional<model::Condition> negative;  // when the unconditional pass is needed; of the same sizes
};

struct PromptPair {
  text::Prompt prompt, negative;
};

// Words that stand for rows beside the token embedding's own, for each text encoder that has any.
struct ExtraTokens {
  std::vector<text::ExtraWord> words;
  Tensor rows;  // [n, width], for ids from the encoder's vocabulary() on; empty without words
};
using ExtraTokensByPart = std::map<io::Part, ExtraTokens>;

// What one call of a text encoder takes.
struct TokenRun {
  std::vector<int32_t> ids;    // framed and padded
  std::vector<float> weights;  // of each id
  size_t used = 0;             // ids before the padding
};

// A prompt pair for one encoder: equally many runs of equal length for both; none when the model lacks the encoder.
struct TokenizedText {
  std::vector<TokenRun> prompt, negative;
  Tensor extra_rows;
  int64_t length() const;  // ids of all runs of a prompt
};

struct TokenizedPrompts {
  std::vector<TokenizedText> texts;               // in the order of the family's uses
  size_t prompt_tokens = 0, negative_tokens = 0;  // as the first encoder counts them
  std::vector<int64_t> lengths() const;           // of each text
  std::string line() const;                       // for the log
};

// Errors: usage (not UTF-8, naming the byte).
Result<PromptPair> parse_prompts(std::string_view prompt, std::string_view negative);

// `t5_length` above 0 takes the place of TextUse::length. Errors: those of text::chunk_prompt.
Result<TokenizedPrompts> tokenize(const model::Model& model, const Tokenizers& tokenizers, const PromptPair& prompts,
                                  const ExtraTokensByPart& extra, int t5_length);

struct ConditionTerms {
  int clip_skip = 0;              // as the request has it
  int64_t height = 0, width = 0;  // of the picture
  bool with_negative = true;
  bool blank_negative = false;  // model::JoinInput::blank
};

// Encodes every run and joins what they give. The hidden state of a token is multiplied by its weight and the run
// brought back to its mean; with all weights 1 nothing is touched. Errors: bad_file when states are not finite.
Result<Conditioning> encode_prompts(const model::Model& model, std::map<io::Part, Workplace>& places,
                                    const TokenizedPrompts& prompts, const ConditionTerms& terms);

// hidden [rows, width] *= weight of its row, then scaled so that the mean over all elements is what it was.
void apply_token_weights(std::span<float> hidden, std::span<const float> weights);

}  // namespace veneer::pipeline
