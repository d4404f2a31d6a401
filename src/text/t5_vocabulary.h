// The tables of T5's tokenizer, read from a sentencepiece model or from a tokenizer.json. Knows the files and refuses
// those that follow other rules than T5's (byte-pair models, byte fallback); knows nothing about text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "text/t5_character_map.h"

namespace veneer::text {

struct T5Vocabulary {
  struct Piece {
    std::string text;
    float score = 0;  // logarithm of a probability
    int32_t id = 0;
  };
  std::vector<Piece> pieces;  // those that text may become, sorted by text, each text once
  CharacterMap characters;
  int32_t unknown_id = 0;  // of <unk>
  int32_t end_id = 0;      // of </s>
  int32_t pad_id = 0;      // of <pad>
  int32_t size = 0;        // all ids are below
};

// Reads `path`: a spiece.model, a tokenizer.json, or a folder that holds one of them (the former counts).
// Errors: not_found and io; bad_file for a damaged or inconsistent file; unsupported for other kinds of models.
Result<T5Vocabulary> read_t5_vocabulary(const std::filesystem::path& path);

// The same from bytes of either file; `name` stands first in messages.
Result<T5Vocabulary> parse_t5_model(std::string_view bytes, const std::string& name);
Result<T5Vocabulary> parse_t5_json(std::string_view text, const std::string& name);

}  // namespace veneer::text
