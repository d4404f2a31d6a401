// The normalisation that a sentencepiece model brings along: a table from runs of bytes to replacements, such as NFKC
// with control characters removed. Knows the table's binary form; knows nothing about pieces.
//
// The form: a little-endian size in bytes, a double-array trie (Aoe 1989) of 32-bit units in the arrangement of the
// darts-clone library, then the replacements, each ended by a zero byte. A trie's value is the place of a replacement.
// Every step is checked against the table's end, so that no table can lead outside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::text {

class CharacterMap {
 public:
  CharacterMap() = default;  // changes nothing
  // `table` may be empty: changes nothing. Errors: bad_file with `name` in front.
  static Result<CharacterMap> parse(std::string_view table, std::string_view name);

  struct Replacement {
    size_t length;          // bytes of the text that it stands for; 0: none begins here
    std::string_view text;  // points into the map
  };
  // For the longest entry that `text` begins with.
  Replacement find(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace veneer::text
