// The words of prompts that stand for vectors (textual inversions): files of a folder, and what adapters bring. Only
// files whose names a prompt mentions are opened, so that a broken one harms nobody who does not use it.
#pragma once

#include <filesystem>
#include <span>

#include "adapt/embedding.h"
#include "pipeline/conditioning.h"

namespace veneer::pipeline {

struct WordSources {
  std::filesystem::path directory;  // looked into on every call; empty: none
  MappedFile::Mode mode = MappedFile::Mode::kMap;
  std::span<const adapt::Embedding> bundled;  // these win over files of the same name, earlier ones over later ones
};

struct FoundWords {
  ExtraTokensByPart tokens;
  std::vector<std::string> lines;     // for the log: each word with its vectors and its file
  std::vector<std::string> warnings;  // words that stay text, and files that another of the same name hides
};

// A word has vectors for some of the model's CLIP encoders; for the others it stays text. Errors: not_found for the
// folder; those of adapt::open_embedding for a file that a prompt mentions.
Result<FoundWords> find_words(const PromptPair& prompts, const WordSources& sources, const model::Model& model);

}  // namespace veneer::pipeline
