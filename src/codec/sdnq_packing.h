// Codes of 1 to 15 bits as SDNQ packs them: a group of codes fills a whole number of words; some codes sit whole at the
// bottom of a word, the others are cut into pieces that fill the words' upper bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::codec {

struct SdnqPacking {
  int64_t codes;  // in a group
  int64_t words;  // that they fill; a word has 8 bits, or 16 for codes of more than 8 bits
};
// `bits` is 1 to 15 and not 8.
SdnqPacking sdnq_packing(int bits);

// A packed array. A word lies in `word_bytes` bytes, little-endian: 1 or 2, or 8 for one-bit codes, which the reference
// stores so.
struct SdnqWords {
  const std::byte* bytes;
  int word_bytes;
  int bits;  // of a code
};
// Writes the codes [first, first + count). The caller has checked that they are there.
void sdnq_unpack(const SdnqWords& words, int64_t first, int64_t count, uint16_t* codes);

}  // namespace veneer::codec
