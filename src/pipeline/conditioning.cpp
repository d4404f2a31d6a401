// Prompts to conditioning.
#include "pipeline/conditioning.h"

#include <algorithm>
#include <numeric>

namespace veneer::pipeline {

Result<PromptPair> parse_prompts(std::string_view prompt, std::string_view negative) {
  VENEER_TRY(parsed, text::parse_prompt(prompt, "prompt"));
  VENEER_TRY(parsed_negative, text::parse_prompt(negative, "negative prompt"));
  return PromptPair{std::move(parsed), std::move(parsed_negative)};
}

Result<TokenizedPrompts> tokenize(const text::ClipTokenizer& tokenizer, const PromptPair& prompts,
                                  const ExtraTokens& extra) {
  text::ChunkOptions options;
  options.pad_id = tokenizer.pad_id();
  options.extra_words = extra.words;
  VENEER_TRY(chunks, text::chunk_prompt(prompts.prompt, tokenizer, options));
  VENEER_TRY(negative_chunks, text::chunk_prompt(prompts.negative, tokenizer, options));
  text::match_chunk_counts(chunks, negative_chunks, tokenizer, options.pad_id);

  TokenizedPrompts out;
  for (const text::Chunk& chunk : chunks.chunks) {
    out.prompt.emplace_back(chunk.ids.begin(), chunk.ids.end());
    out.prompt_weights.emplace_back(chunk.weights.begin(), chunk.weights.end());
  }
  for (const text::Chunk& chunk : negative_chunks.chunks) {
    out.negative.emplace_back(chunk.ids.begin(), chunk.ids.end());
    out.negative_weights.emplace_back(chunk.weights.begin(), chunk.weights.end());
  }
  out.prompt_tokens = chunks.tokens;
  out.negative_tokens = negative_chunks.tokens;
  out.extra_rows = extra.rows;
  return out;
}

void apply_token_weights(std::span<float> hidden, std::span<const float> weights) {
  if (std::all_of(weights.begin(), weights.end(), [](float w) { return w == 1.0f; })) return;
  const auto sum = [&] { return std::accumulate(hidden.begin(), hidden.end(), 0.0); };
  const double before = sum();
  const size_t width = hidden.size() / weights.size();
  for (size_t row = 0; row < weights.size(); ++row)
    for (float& value : hidden.subspan(row * width, width)) value *= weights[row];
  const double after = sum();
  if (after == 0.0) return;  // all weights 0: there is no mean to restore
  const double scale = before / after;
  for (float& value : hidden) value = static_cast<float>(value * scale);
}

Conditioning encode_prompts(nn::Context& context, const model::TextEncoder& encoder, const TokenizedPrompts& prompts,
                            int64_t skip, bool with_negative) {
  Conditioning out;
  out.chunks = prompts.prompt.size();
  out.prompt_tokens = prompts.prompt_tokens;
  out.negative_tokens = prompts.negative_tokens;
  const int64_t rows = static_cast<int64_t>(prompts.prompt.front().size());
  const int64_t tokens = rows * static_cast<int64_t>(out.chunks);
  out.states = Tensor::zeros({with_negative ? 2 : 1, tokens, encoder.width()});
  const auto encode = [&](const std::vector<std::vector<int32_t>>& chunks,
                          const std::vector<std::vector<float>>& weights, float* to) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      Tensor hidden =
          encoder.encode(context, {.ids = chunks[i], .skip = skip, .extra_rows = prompts.extra_rows}).states;
      if (context.measuring()) continue;
      apply_token_weights(hidden.values(), weights[i]);
      std::copy_n(hidden.f32(), hidden.elements(), to + static_cast<int64_t>(i) * hidden.elements());
    }
  };
  encode(prompts.prompt, prompts.prompt_weights, out.states.f32());
  if (with_negative) encode(prompts.negative, prompts.negative_weights, out.states.f32() + tokens * encoder.width());
  return out;
}

}  // namespace veneer::pipeline
