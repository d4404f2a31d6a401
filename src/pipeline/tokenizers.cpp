// Finding and checking tokenizers.
#include "pipeline/tokenizers.h"

#include "core/format.h"
#include "text/chunks.h"

namespace veneer::pipeline {
namespace {

constexpr std::string_view kVocabulary = "bpe_simple_vocab_16e6.txt.gz";

Result<text::ClipTokenizer> load_clip(const io::ModelFiles& files, const std::filesystem::path& data_dir) {
  if (!files.tokenizer.empty()) return text::ClipTokenizer::load_folder(files.tokenizer);
  const std::filesystem::path vocabulary = data_dir / kVocabulary;
  std::error_code ignored;
  if (std::filesystem::exists(vocabulary, ignored)) return text::ClipTokenizer::load_merge_list(vocabulary);
  return Error{ErrorCode::kNotFound,
               concat(files.name, ": carries no tokenizer, and CLIP's vocabulary (", kVocabulary, ") is not in ",
                      data_dir.string(),
                      "; give a folder with vocab.json and merges.txt by --tokenizer, or run scripts/setup.sh"),
               vocabulary.string()};
}

Result<text::T5Tokenizer> load_t5(const io::ModelFiles& files) {
  if (!files.t5_tokenizer.empty()) return text::T5Tokenizer::load(files.t5_tokenizer);
  return Error{ErrorCode::kNotFound,
               concat(files.name,
                      ": carries no tokenizer for its T5 encoder; give a folder with spiece.model or "
                      "tokenizer.json by --tokenizer"),
               "--tokenizer"};
}

Status check_size(int64_t known, const model::TextEncoder& encoder, const std::string& name) {
  if (known <= encoder.vocabulary()) return {};
  return Error{ErrorCode::kMismatch,
               concat(name, ": the tokenizer knows ", known, " tokens, the text encoder ", encoder.vocabulary(),
                      "; give the model's own tokenizer by --tokenizer"),
               "--tokenizer"};
}

Status check_positions(const model::TextEncoder& encoder, const std::string& name) {
  constexpr auto kRows = static_cast<int64_t>(text::kChunkRows);
  if (encoder.positions() >= kRows) return {};
  return Error{ErrorCode::kMismatch,
               concat(name, ": the text encoder has ", encoder.positions(), " positions, expected ", kRows), name};
}

}  // namespace

Result<Tokenizers> load_tokenizers(const io::ModelFiles& files, const model::Model& model,
                                   const std::filesystem::path& data_dir) {
  Tokenizers tokenizers;
  for (const model::TextUse& use : model.text_plan().uses) {
    const model::TextEncoder* encoder = model.text_encoder(use.part);
    if (!encoder) continue;
    if (use.kind == model::TextKind::kT5) {
      VENEER_TRY(t5, load_t5(files));
      VENEER_TRY_STATUS(check_size(t5.vocabulary_size(), *encoder, files.name));
      tokenizers.t5 = std::move(t5);
      continue;
    }
    if (!tokenizers.clip) {
      VENEER_TRY(clip, load_clip(files, data_dir));
      tokenizers.clip = std::move(clip);
    }
    VENEER_TRY_STATUS(check_size(tokenizers.clip->vocabulary_size(), *encoder, files.name));
    VENEER_TRY_STATUS(check_positions(*encoder, files.name));
  }
  return tokenizers;
}

}  // namespace veneer::pipeline
