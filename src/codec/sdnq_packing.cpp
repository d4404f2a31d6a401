// The packing table: where the pieces of each code of a group lie.
#include "codec/sdnq_packing.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace veneer::codec {
namespace {

struct Piece {
  uint8_t bits, word, shift;
  uint8_t at = 0;  // its lowest bit within the code
};

constexpr size_t kMostCodes = 16;
constexpr size_t kMostPieces = 15;

struct Code {
  std::array<Piece, kMostPieces> pieces{};  // from bit 0 of the code up
  size_t count = 0;
};

struct Packing {
  SdnqPacking size{};
  std::array<Code, kMostCodes> codes{};
};

// The codes that are not in `cut` sit whole at bit 0 of word 0, 1, ...
constexpr Packing make(uint8_t bits, int64_t codes, int64_t words,
                       std::initializer_list<std::initializer_list<Piece>> cut) {
  Packing packing{{codes, words}, {}};
  const size_t whole = static_cast<size_t>(codes) - cut.size();
  for (size_t i = 0; i < whole; ++i) packing.codes[i] = {{Piece{bits, static_cast<uint8_t>(i), 0}}, 1};
  size_t i = whole;
  for (const auto& pieces : cut) {
    Code& code = packing.codes[i++];
    uint8_t at = 0;
    for (const Piece& piece : pieces) {
      code.pieces[code.count++] = {piece.bits, piece.word, piece.shift, at};
      at = static_cast<uint8_t>(at + piece.bits);
    }
  }
  return packing;
}

constexpr Packing kPackings[] = {
    make(1, 8, 1, {{{1, 0, 1}}, {{1, 0, 2}}, {{1, 0, 3}}, {{1, 0, 4}}, {{1, 0, 5}}, {{1, 0, 6}}, {{1, 0, 7}}}),
    make(2, 4, 1, {{{2, 0, 2}}, {{2, 0, 4}}, {{2, 0, 6}}}),
    make(3, 8, 3, {{{3, 0, 3}}, {{3, 1, 3}}, {{3, 2, 3}}, {{2, 0, 6}, {1, 2, 6}}, {{2, 1, 6}, {1, 2, 7}}}),
    make(4, 2, 1, {{{4, 0, 4}}}),
    make(5, 8, 5, {{{3, 0, 5}, {2, 3, 5}}, {{3, 1, 5}, {2, 4, 5}}, {{3, 2, 5}, {1, 4, 7}, {1, 3, 7}}}),
    make(6, 4, 3, {{{2, 2, 6}, {2, 1, 6}, {2, 0, 6}}}),
    make(7, 8, 7, {{{1, 6, 7}, {1, 5, 7}, {1, 4, 7}, {1, 3, 7}, {1, 2, 7}, {1, 1, 7}, {1, 0, 7}}}),
    Packing{},  // eight bits are not packed
    make(9, 16, 9,
         {{{7, 0, 9}, {2, 8, 0}},
          {{7, 1, 9}, {2, 8, 2}},
          {{7, 2, 9}, {2, 8, 4}},
          {{7, 3, 9}, {2, 8, 6}},
          {{7, 4, 9}, {2, 8, 8}},
          {{7, 5, 9}, {2, 8, 10}},
          {{7, 6, 9}, {2, 8, 12}},
          {{7, 7, 9}, {2, 8, 14}}}),
    make(10, 8, 5, {{{6, 0, 10}, {4, 3, 10}}, {{6, 1, 10}, {4, 4, 10}}, {{6, 2, 10}, {2, 4, 14}, {2, 3, 14}}}),
    make(11, 16, 11,
         {{{5, 0, 11}, {6, 8, 0}},
          {{5, 1, 11}, {6, 9, 0}},
          {{5, 2, 11}, {6, 10, 0}},
          {{5, 3, 11}, {6, 8, 6}},
          {{5, 4, 11}, {6, 9, 6}},
          {{5, 5, 11}, {6, 10, 6}},
          {{5, 6, 11}, {4, 8, 12}, {2, 10, 12}},
          {{5, 7, 11}, {4, 9, 12}, {2, 10, 14}}}),
    make(12, 4, 3, {{{4, 2, 12}, {4, 1, 12}, {4, 0, 12}}}),
    make(13, 16, 13,
         {{{3, 0, 13}, {3, 3, 13}, {3, 6, 13}, {3, 9, 13}, {1, 12, 13}},
          {{3, 1, 13}, {3, 4, 13}, {3, 7, 13}, {3, 10, 13}, {1, 12, 14}},
          {{3, 2, 13}, {3, 5, 13}, {3, 8, 13}, {3, 11, 13}, {1, 12, 15}}}),
    make(14, 8, 7, {{{2, 6, 14}, {2, 5, 14}, {2, 4, 14}, {2, 3, 14}, {2, 2, 14}, {2, 1, 14}, {2, 0, 14}}}),
    make(15, 16, 15,
         {{{1, 14, 15},
           {1, 13, 15},
           {1, 12, 15},
           {1, 11, 15},
           {1, 10, 15},
           {1, 9, 15},
           {1, 8, 15},
           {1, 7, 15},
           {1, 6, 15},
           {1, 5, 15},
           {1, 4, 15},
           {1, 3, 15},
           {1, 2, 15},
           {1, 1, 15},
           {1, 0, 15}}}),
};

constexpr const Packing& packing_of(int bits) { return kPackings[bits - 1]; }

constexpr uint32_t bits_of(const Piece& piece, uint32_t word) {
  return ((word >> piece.shift) & ((1u << piece.bits) - 1u)) << piece.at;
}

uint32_t word_at(const std::byte* at, int word_bytes) {
  const auto low = static_cast<uint32_t>(at[0]);
  return word_bytes == 2 ? low | (static_cast<uint32_t>(at[1]) << 8) : low;
}

// Any range, piece by piece.
void unpack_some(const SdnqWords& words, int64_t first, int64_t count, uint16_t* codes) {
  const Packing& packing = packing_of(words.bits);
  for (int64_t i = first; i < first + count; ++i) {
    const std::byte* group = words.bytes + i / packing.size.codes * packing.size.words * words.word_bytes;
    const Code& code = packing.codes[static_cast<size_t>(i % packing.size.codes)];
    uint32_t value = 0;
    for (size_t k = 0; k < code.count; ++k)
      value |= bits_of(code.pieces[k], word_at(group + code.pieces[k].word * words.word_bytes, words.word_bytes));
    *codes++ = static_cast<uint16_t>(value);
  }
}

// Whole groups of words of the usual size. The words of a group are read once, and all places are constants.
template <int kBits>
void unpack_groups(const std::byte* bytes, int64_t groups, uint16_t* codes) {
  static constexpr const Packing& kPacking = packing_of(kBits);
  constexpr auto kWords = static_cast<size_t>(kPacking.size.words), kCodes = static_cast<size_t>(kPacking.size.codes);
  constexpr int kWordBytes = kBits > 8 ? 2 : 1;
  for (; groups > 0; --groups, bytes += kWords * kWordBytes, codes += kCodes) {
    uint32_t words[kWords];
    for (size_t i = 0; i < kWords; ++i) words[i] = word_at(bytes + i * kWordBytes, kWordBytes);
    [&]<size_t... code>(std::index_sequence<code...>) {
      ((codes[code] =
            [&]<size_t... k>(std::index_sequence<k...>) {
              constexpr const Code& kCode = kPacking.codes[code];
              return static_cast<uint16_t>((... | bits_of(kCode.pieces[k], words[kCode.pieces[k].word])));
            }(std::make_index_sequence<kPacking.codes[code].count>())),
       ...);
    }
    (std::make_index_sequence<kCodes>());
  }
}

using GroupsUnpacker = void (*)(const std::byte* bytes, int64_t groups, uint16_t* codes);
constexpr GroupsUnpacker kUnpackers[] = {
    unpack_groups<1>,  unpack_groups<2>,  unpack_groups<3>,  unpack_groups<4>,  unpack_groups<5>,
    unpack_groups<6>,  unpack_groups<7>,  nullptr,           unpack_groups<9>,  unpack_groups<10>,
    unpack_groups<11>, unpack_groups<12>, unpack_groups<13>, unpack_groups<14>, unpack_groups<15>,
};

}  // namespace

SdnqPacking sdnq_packing(int bits) { return packing_of(bits).size; }

void sdnq_unpack(const SdnqWords& words, int64_t first, int64_t count, uint16_t* codes) {
  if (words.word_bytes > 2) return unpack_some(words, first, count, codes);
  const SdnqPacking& size = packing_of(words.bits).size;
  const int64_t begin = std::min(first + count, (first + size.codes - 1) / size.codes * size.codes);
  const int64_t groups = (first + count - begin) / size.codes, end = begin + groups * size.codes;
  unpack_some(words, first, begin - first, codes);
  kUnpackers[words.bits - 1](words.bytes + begin / size.codes * size.words * words.word_bytes, groups,
                             codes + (begin - first));
  unpack_some(words, end, first + count - end, codes + (end - first));
}

}  // namespace veneer::codec
