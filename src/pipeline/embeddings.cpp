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
  WordFinder(const PromptPair& prompts, const model::Model& model) : prompts_(prompts) {
    for (const model::TextUse& use : model.text_plan().uses)
      if (const model::TextEncoder* encoder = model.text_encoder(use.part);
          encoder && use.kind == model::TextKind::kClip)
        readers_.push_back({use.part, *encoder, {}, {}});
  }

  // A name that is not UTF-8 cannot be written in a prompt.
  bool is_mentioned(const std::string& word) const {
    return text::check_text(word, "word") &&
           (text::mentions(prompts_.prompt, word) || text::mentions(prompts_.negative, word));
  }

  void take(const adapt::Embedding& embedding) {
    if (std::ranges::any_of(readers_, [&](const Reader& reader) { return embedding.of_width(reader.width()); }))
      add(embedding);
    else
      warn(embedding, concat("has vectors of ", join(widths_of(embedding), " and "), " values, the text encoder takes ",
                             join(widths_of_readers(), " and "), "; the word stays text"));
  }

  FoundWords finish() && {
    for (Reader& reader : readers_) {
      if (reader.words.empty()) continue;
      const Shape shape{reader.rows_taken(), reader.width()};
      found_.tokens[reader.part] = {std::move(reader.words), Tensor::from(reader.rows, shape)};
    }
    return std::move(found_);
  }

 private:
  // A text encoder with the words that it has vectors for.
  struct Reader {
    io::Part part;
    const model::TextEncoder& encoder;
    std::vector<text::ExtraWord> words;
    std::vector<float> rows;

    int64_t width() const { return encoder.width(); }
    int64_t rows_taken() const { return static_cast<int64_t>(rows.size()) / width(); }
    void add(const std::string& word, const Tensor& vectors) {
      const auto id = static_cast<int32_t>(encoder.vocabulary() + rows_taken());
      words.push_back({word, id, static_cast<int32_t>(vectors.shape[0])});
      rows.insert(rows.end(), vectors.values().begin(), vectors.values().end());
    }
  };

  void add(const adapt::Embedding& embedding) {
    if (std::ranges::any_of(taken_, [&](const std::string& word) { return same_word(word, embedding.word); })) {
      warn(embedding, "is not used, another embedding has this name");
      return;
    }
    taken_.push_back(embedding.word);
    int64_t count = 0;
    for (Reader& reader : readers_)
      if (const Tensor* vectors = embedding.of_width(reader.width())) {
        reader.add(embedding.word, *vectors);
        count = std::max(count, vectors->shape[0]);
      }
    found_.lines.push_back(concat("embedding ", embedding.word, ": ", count, count == 1 ? " vector" : " vectors",
                                  " from '", embedding.source, "'"));
  }

  std::vector<std::string> widths_of(const adapt::Embedding& embedding) const {
    std::vector<std::string> widths;
    for (const Tensor& one : embedding.vectors) widths.push_back(concat(one.shape.back()));
    return widths;
  }
  std::vector<std::string> widths_of_readers() const {
    std::vector<std::string> widths;
    for (const Reader& reader : readers_) widths.push_back(concat(reader.width()));
    return widths;
  }
  void warn(const adapt::Embedding& embedding, std::string_view fault) {
    found_.warnings.push_back(concat("embedding ", embedding.word, ": ", embedding.source, " ", fault));
  }

  const PromptPair& prompts_;
  std::vector<Reader> readers_;
  std::vector<std::string> taken_;
  FoundWords found_;
};

}  // namespace

Result<FoundWords> find_words(const PromptPair& prompts, const WordSources& sources, const model::Model& model) {
  WordFinder finder(prompts, model);
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
