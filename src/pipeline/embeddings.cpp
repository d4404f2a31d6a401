// Looking for the words of prompts.
#include "pipeline/embeddings.h"

#include <algorithm>

#include "core/format.h"
#include "text/unicode.h"

namespace veneer::pipeline {
namespace {

bool same_word(std::string_view a, std::string_view b) { return text::prefix_ignoring_case(a, b) == a.size(); }

class WordFinder {
 public:
  WordFinder(const PromptPair& prompts, const model::TextEncoder& encoder) : prompts_(prompts), encoder_(encoder) {}

  // A name that is not UTF-8 cannot be written in a prompt.
  bool is_mentioned(const std::string& word) const {
    return text::check_text(word, "word") &&
           (text::mentions(prompts_.prompt, word) || text::mentions(prompts_.negative, word));
  }

  void take(const adapt::Embedding& embedding) {
    const Tensor* vectors = embedding.of_width(encoder_.width());
    if (!vectors) {
      std::vector<std::string> widths;
      for (const Tensor& one : embedding.vectors) widths.push_back(concat(one.shape.back()));
      warn(embedding, concat("has vectors of ", join(widths, " and "), " values, the text encoder takes ",
                             encoder_.width(), "; the word stays text"));
      return;
    }
    std::vector<text::ExtraWord>& words = found_.tokens.words;
    if (std::ranges::any_of(words, [&](const auto& held) { return same_word(held.word, embedding.word); })) {
      warn(embedding, "is not used, another embedding has this name");
      return;
    }
    const auto count = static_cast<int32_t>(vectors->shape[0]);
    words.push_back({embedding.word, next_id(), count});
    rows_.insert(rows_.end(), vectors->values().begin(), vectors->values().end());
    found_.lines.push_back(concat("embedding ", embedding.word, ": ", count, count == 1 ? " vector" : " vectors",
                                  " from '", embedding.source, "'"));
  }

  FoundWords finish() && {
    const int64_t width = encoder_.width();
    if (!rows_.empty()) found_.tokens.rows = Tensor::from(rows_, {static_cast<int64_t>(rows_.size()) / width, width});
    return std::move(found_);
  }

 private:
  int32_t next_id() const {
    return static_cast<int32_t>(encoder_.vocabulary() + static_cast<int64_t>(rows_.size()) / encoder_.width());
  }
  void warn(const adapt::Embedding& embedding, std::string_view fault) {
    found_.warnings.push_back(concat("embedding ", embedding.word, ": ", embedding.source, " ", fault));
  }

  const PromptPair& prompts_;
  const model::TextEncoder& encoder_;
  std::vector<float> rows_;
  FoundWords found_;
};

}  // namespace

Result<FoundWords> find_words(const PromptPair& prompts, const WordSources& sources,
                              const model::TextEncoder& encoder) {
  WordFinder finder(prompts, encoder);
  for (const adapt::Embedding& embedding : sources.bundled)
    if (finder.is_mentioned(embedding.word)) finder.take(embedding);
  if (sources.directory.empty()) return std::move(finder).finish();
  auto files = adapt::embedding_files(sources.directory);
  if (!files) {
    files.error().message.insert(0, "--embd-dir: ");
    return files.error();
  }
  for (const std::filesystem::path& file : *files) {
    if (!finder.is_mentioned(file.stem().string())) continue;
    VENEER_TRY(embedding, adapt::open_embedding(file, sources.mode));
    finder.take(embedding);
  }
  return std::move(finder).finish();
}

}  // namespace veneer::pipeline
