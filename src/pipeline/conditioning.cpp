// Prompts to conditioning.
#include "pipeline/conditioning.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/format.h"
#include "pipeline/vision.h"
#include "text/unicode.h"

namespace veneer::pipeline {
namespace {

using model::TextKind;
using model::TextUse;

struct ChunkPair {
  text::ChunkedPrompt prompt, negative;
  int32_t pad_id = 0;
};

Result<ChunkPair> clip_chunks(const TextUse& use, const text::ClipTokenizer& tokenizer, const PromptPair& prompts,
                              std::span<const text::ExtraWord> words) {
  const int32_t pad_id = use.pad_id.value_or(tokenizer.pad_id());
  const text::ChunkOptions options{.pad_id = pad_id, .extra_words = words};
  VENEER_TRY(prompt, text::chunk_prompt(prompts.prompt, tokenizer, options));
  VENEER_TRY(negative, text::chunk_prompt(prompts.negative, tokenizer, options));
  return ChunkPair{std::move(prompt), std::move(negative), pad_id};
}

// All prompts of all encoders get as many chunks as the longest has.
void match_counts(std::vector<ChunkPair>& pairs, const text::ClipTokenizer& tokenizer) {
  text::ChunkedPrompt longest;
  for (const ChunkPair& pair : pairs)
    for (const text::ChunkedPrompt* prompt : {&pair.prompt, &pair.negative})
      if (prompt->chunks.size() > longest.chunks.size()) longest = *prompt;
  for (ChunkPair& pair : pairs)
    for (text::ChunkedPrompt* prompt : {&pair.prompt, &pair.negative})
      text::match_chunk_counts(*prompt, longest, tokenizer, pair.pad_id);
}

std::vector<TokenRun> runs_of(const text::ChunkedPrompt& prompt) {
  std::vector<TokenRun> runs;
  for (const text::Chunk& chunk : prompt.chunks)
    runs.push_back(
        {{chunk.ids.begin(), chunk.ids.end()}, {chunk.weights.begin(), chunk.weights.end()}, text::kChunkRows});
  return runs;
}

std::string lower_cased(std::string_view text) {
  std::u32string lower;
  for (const char32_t character : text::to_nfc(text)) text::append_lower(character, lower);
  std::string out;
  for (const char32_t character : lower) text::append_utf8(character, out);
  return out;
}

// The tokens of a prompt, the closing one included; chunks mean nothing to T5.
Result<TokenRun> t5_run(const TextUse& use, const text::T5Tokenizer& tokenizer, const text::Prompt& prompt) {
  TokenRun run;
  for (const text::PromptSection& section : prompt)
    for (const text::PromptPiece& piece : section) {
      VENEER_TRY(ids, tokenizer.encode(use.lower_case ? lower_cased(piece.text) : piece.text));
      run.ids.insert(run.ids.end(), ids.begin(), ids.end());
      run.weights.resize(run.ids.size(), static_cast<float>(piece.weight));
    }
  if (const auto most = static_cast<size_t>(use.length) - 1; !use.grows && run.ids.size() > most) {
    run.ids.resize(most);
    run.weights.resize(most);
  }
  run.ids.push_back(tokenizer.end_id());
  run.weights.push_back(1.0f);
  run.used = run.ids.size();
  return run;
}

Result<TokenizedText> t5_text(const TextUse& use, const text::T5Tokenizer& tokenizer, const PromptPair& prompts) {
  VENEER_TRY(prompt, t5_run(use, tokenizer, prompts.prompt));
  VENEER_TRY(negative, t5_run(use, tokenizer, prompts.negative));
  // Padding that is hidden has no effect: there is only as much as makes both equally long.
  const auto unit = static_cast<size_t>(use.masked ? 1 : use.length);
  const size_t length = (std::max(prompt.used, negative.used) + unit - 1) / unit * unit;
  for (TokenRun* run : {&prompt, &negative}) {
    run->ids.resize(length, tokenizer.pad_id());
    run->weights.resize(length, 1.0f);
  }
  TokenizedText out;
  out.prompt.push_back(std::move(prompt));
  out.negative.push_back(std::move(negative));
  return out;
}

// How an encoder is called for both prompts.
struct EncoderCall {
  const model::TextEncoder& encoder;
  const TextUse& use;
  const Tensor& extra_rows;
  int64_t skip;
};

// What an encoder makes of the runs of one prompt. Nothing but the measuring happens on a dry device.
model::EncodedText encode_runs(nn::Context& context, const EncoderCall& call, std::span<const TokenRun> runs) {
  const auto& [encoder, use, extra_rows, skip] = call;
  const auto rows = static_cast<int64_t>(runs.front().ids.size());
  model::EncodedText out;
  out.states = Tensor::zeros({1, rows * static_cast<int64_t>(runs.size()), encoder.width()});
  if (use.masked) out.mask = Tensor::zeros({1, out.states.shape[1]});
  for (size_t i = 0; i < runs.size(); ++i) {
    model::TextEncoder::Input input{
        .ids = runs[i].ids, .skip = skip, .final_norm = use.final_norm, .extra_rows = extra_rows};
    input.pooled = use.pooled != model::ClipPooled::kNone && i == 0;
    const int64_t first = static_cast<int64_t>(i) * rows;
    if (use.masked) {
      std::fill(out.mask.f32() + first + static_cast<int64_t>(runs[i].used), out.mask.f32() + first + rows,
                -std::numeric_limits<float>::infinity());
      input.key_mask = Tensor::view(out.mask.f32() + first, {1, rows});
    }
    model::TextEncoder::Encoded encoded = encoder.encode(context, input);
    if (context.measuring()) continue;
    apply_token_weights(encoded.states.values(), runs[i].weights);
    std::copy_n(encoded.states.f32(), encoded.states.elements(), out.states.f32() + first * encoder.width());
    if (input.pooled) out.pooled = encoded.pooled.clone();
  }
  return out;
}

Status check_finite(const model::EncodedText& text, io::Part part, const model::TextEncoder& encoder) {
  if (first_non_finite(text.states.values()) < 0 && (text.pooled.empty() || first_non_finite(text.pooled.values()) < 0))
    return {};
  const std::string weight = find_broken_weight(encoder);
  return Error{ErrorCode::kBadFile,
               concat("text encoder: the result has values that are not finite",
                      weight.empty() ? std::string() : ", as has its tensor " + weight),
               weight.empty() ? std::string(io::name_of(part)) : weight};
}

}  // namespace

int64_t TokenizedText::length() const {
  return prompt.empty() ? 0 : static_cast<int64_t>(prompt.size() * prompt.front().ids.size());
}

std::vector<int64_t> TokenizedPrompts::lengths() const {
  std::vector<int64_t> out;
  for (const TokenizedText& text : texts) out.push_back(text.length());
  return out;
}

std::string TokenizedPrompts::line() const {
  std::string out = concat("prompt: ", prompt_tokens, " tokens, negative ", negative_tokens);
  const auto first = std::ranges::find_if(texts, [](const TokenizedText& text) { return !text.prompt.empty(); });
  if (first == texts.end()) return out;
  const size_t chunks = first->prompt.size();
  return concat(out, ", ", chunks, chunks == 1 ? " chunk of " : " chunks of ", first->prompt.front().ids.size());
}

Result<PromptPair> parse_prompts(std::string_view prompt, std::string_view negative) {
  VENEER_TRY(parsed, text::parse_prompt(prompt, "prompt"));
  VENEER_TRY(parsed_negative, text::parse_prompt(negative, "negative prompt"));
  return PromptPair{std::move(parsed), std::move(parsed_negative)};
}

Result<TokenizedPrompts> tokenize(const model::Model& model, const Tokenizers& tokenizers, const PromptPair& prompts,
                                  const ExtraTokensByPart& extra, int t5_length) {
  TokenizedPrompts out;
  std::vector<ChunkPair> pairs;
  std::vector<size_t> places;  // of each pair in `out.texts`
  for (const TextUse& use : model.text_plan().uses) {
    TokenizedText& text = out.texts.emplace_back();
    if (!model.text_encoder(use.part)) continue;
    if (use.kind == TextKind::kT5) {
      TextUse asked = use;
      if (t5_length > 0) asked.length = t5_length;
      VENEER_TRY(t5, t5_text(asked, *tokenizers.t5, prompts));
      text = std::move(t5);
      continue;
    }
    const auto found = extra.find(use.part);
    const ExtraTokens none, &own = found == extra.end() ? none : found->second;
    text.extra_rows = own.rows;
    VENEER_TRY(chunks, clip_chunks(use, *tokenizers.clip, prompts, own.words));
    pairs.push_back(std::move(chunks));
    places.push_back(out.texts.size() - 1);
  }
  if (!pairs.empty()) {
    match_counts(pairs, *tokenizers.clip);
    out.prompt_tokens = pairs.front().prompt.tokens;
    out.negative_tokens = pairs.front().negative.tokens;
  } else if (!out.texts.empty() && !out.texts.front().prompt.empty()) {
    out.prompt_tokens = out.texts.front().prompt.front().used;
    out.negative_tokens = out.texts.front().negative.front().used;
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    out.texts[places[i]].prompt = runs_of(pairs[i].prompt);
    out.texts[places[i]].negative = runs_of(pairs[i].negative);
  }
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

Result<Conditioning> encode_prompts(const model::Model& model, std::map<io::Part, Workplace>& places,
                                    const TokenizedPrompts& prompts, const ConditionTerms& terms) {
  const model::TextPlan& plan = model.text_plan();
  const bool encode_negative = terms.with_negative && !terms.blank_negative;
  std::vector<model::EncodedText> prompt(plan.uses.size()), negative(plan.uses.size());
  for (size_t i = 0; i < plan.uses.size(); ++i) {
    const TextUse& use = plan.uses[i];
    const model::TextEncoder* encoder = model.text_encoder(use.part);
    if (!encoder) continue;
    const TokenizedText& text = prompts.texts[i];
    const int64_t skip = use.kind == TextKind::kClip ? model::layers_left_out(use, *encoder, terms.clip_skip) : 0;
    const EncoderCall call{*encoder, use, text.extra_rows, skip};
    places.at(use.part).run([&](nn::Context& context) {
      prompt[i] = encode_runs(context, call, text.prompt);
      if (encode_negative) negative[i] = encode_runs(context, call, text.negative);
    });
    VENEER_TRY_STATUS(check_finite(prompt[i], use.part, *encoder));
    if (encode_negative) VENEER_TRY_STATUS(check_finite(negative[i], use.part, *encoder));
  }
  Conditioning out;
  model::JoinInput input{.texts = prompt, .denoiser = *model.denoiser, .height = terms.height, .width = terms.width};
  out.prompt = plan.join(input);
  if (!terms.with_negative) return out;
  input.texts = encode_negative ? negative : prompt;  // of a blank one only the sizes count
  input.negative = true;
  input.blank = terms.blank_negative;
  out.negative = plan.join(input);
  return out;
}

}  // namespace veneer::pipeline
