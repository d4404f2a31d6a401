// Normalising and segmenting.
#include "text/t5_tokenizer.h"

#include <algorithm>
#include <span>
#include <string>

#include "text/unicode.h"

namespace veneer::text {
namespace {

using Piece = T5Vocabulary::Piece;

constexpr std::string_view kBlankSign = "\u2581";
constexpr float kUnknownPenalty = 10.0f;

// Bytes of the character at the start of `text`. A character map may bring in anything, so nothing is taken on trust.
size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return std::min(length, text.size());
}

std::string normalise(std::string_view text, const CharacterMap& map) {
  std::string out;
  bool blank = true;  // before the next character; one goes in front of the first
  while (!text.empty()) {
    const auto [length, replacement] = map.find(text);
    const size_t taken = length > 0 ? length : character_length(text);
    std::string_view characters = length > 0 ? replacement : text.substr(0, taken);
    text.remove_prefix(taken);
    while (!characters.empty()) {
      const std::string_view character = characters.substr(0, character_length(characters));
      characters.remove_prefix(character.size());
      if (character == " " || character == kBlankSign) {
        blank = true;
        continue;
      }
      if (blank) out += kBlankSign;
      blank = false;
      out += character;
    }
  }
  return out;
}

// Those of the sorted `pieces`, all of which begin with the same `depth` bytes, whose next byte is `byte`.
std::span<const Piece> narrowed(std::span<const Piece> pieces, size_t depth, char byte) {
  const auto next = [depth](const Piece& piece) {
    return depth < piece.text.size() ? static_cast<int>(static_cast<unsigned char>(piece.text[depth])) : -1;
  };
  const int wanted = static_cast<unsigned char>(byte);
  return {std::ranges::lower_bound(pieces, wanted, {}, next), std::ranges::upper_bound(pieces, wanted, {}, next)};
}

// The best path to a position in the text: where its last piece begins and which it is.
struct Step {
  bool reached = false;
  float score = 0;
  size_t begin = 0;
  int32_t id = 0;
};

// A path replaces another one only when it is better, so that of equals the one whose last piece is longer stays.
void offer(Step& step, const Step& other) {
  if (!step.reached || other.score > step.score) step = other;
}

// Offers all pieces that begin at `begin` to the positions where they end.
void extend(const T5Vocabulary& vocabulary, float unknown_score, std::string_view text, size_t begin,
            std::vector<Step>& steps) {
  const float score = steps[begin].score;
  const size_t character_end = begin + character_length(text.substr(begin));
  bool is_piece = false;
  std::span<const Piece> pieces = vocabulary.pieces;
  for (size_t end = begin + 1; end <= text.size(); ++end) {
    pieces = narrowed(pieces, end - 1 - begin, text[end - 1]);
    if (pieces.empty()) break;
    const Piece& shortest = pieces.front();
    if (shortest.text.size() != end - begin) continue;
    offer(steps[end], {true, score + shortest.score, begin, shortest.id});
    is_piece = is_piece || end == character_end;
  }
  if (!is_piece) offer(steps[character_end], {true, score + unknown_score, begin, vocabulary.unknown_id});
}

}  // namespace

T5Tokenizer::T5Tokenizer(T5Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  for (const Piece& piece : vocabulary_.pieces) unknown_score_ = std::min(unknown_score_, piece.score);
  unknown_score_ -= kUnknownPenalty;
}

Result<T5Tokenizer> T5Tokenizer::load(const std::filesystem::path& folder_or_file) {
  VENEER_TRY(vocabulary, read_t5_vocabulary(folder_or_file));
  return T5Tokenizer(std::move(vocabulary));
}

Result<std::vector<int32_t>> T5Tokenizer::encode(std::string_view text) const {
  VENEER_TRY_STATUS(check_text(text, "text"));
  const std::string normal = normalise(text, vocabulary_.characters);
  std::vector<Step> steps(normal.size() + 1);
  steps[0].reached = true;
  for (size_t begin = 0; begin < normal.size(); ++begin)
    if (steps[begin].reached) extend(vocabulary_, unknown_score_, normal, begin, steps);

  std::vector<int32_t> ids;
  for (size_t end = normal.size(); end > 0; end = steps[end].begin) {
    const int32_t id = steps[end].id;
    const bool repeats = !ids.empty() && id == vocabulary_.unknown_id && ids.back() == id;
    if (!repeats) ids.push_back(id);
  }
  std::ranges::reverse(ids);
  return ids;
}

}  // namespace veneer::text
