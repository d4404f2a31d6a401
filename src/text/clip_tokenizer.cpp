// Splitting into pieces and joining of symbols.
#include "text/clip_tokenizer.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>

#include "core/format.h"
#include "text/unicode.h"

namespace veneer::text {
namespace {

constexpr int32_t kNone = -1;

// The symbols of one piece as a linked list. Candidates wait in a heap by rank, then place; one whose pair has changed
// since is dropped when its turn comes. With n symbols this takes n log n steps where rescanning takes n squared, which
// a prompt of one long run of letters would show.
class PieceMerger {
 public:
  PieceMerger(const ClipVocabulary& vocabulary, std::vector<int32_t> symbols)
      : vocabulary_(vocabulary), ids_(std::move(symbols)) {
    const auto count = static_cast<int32_t>(ids_.size());
    for (int32_t i = 0; i < count; ++i) {
      previous_.push_back(i - 1);
      next_.push_back(i + 1 < count ? i + 1 : kNone);
    }
    for (int32_t i = 0; i < count; ++i) offer(i);
  }

  void append_to(std::vector<int32_t>& out) {
    while (!candidates_.empty()) {
      const auto [rank, left] = candidates_.top();
      candidates_.pop();
      const Merge* merge = merge_at(left);
      if (merge && merge->rank == rank) join(left, merge->id);
    }
    for (int32_t i = 0; i != kNone; i = next_[i]) out.push_back(ids_[i]);
  }

 private:
  struct Candidate {
    int32_t rank, left;
    auto operator<=>(const Candidate&) const = default;
  };

  const Merge* merge_at(int32_t left) const {
    if (left == kNone || ids_[left] == kNone || next_[left] == kNone) return nullptr;
    const auto found = vocabulary_.merges.find(pair_key(ids_[left], ids_[next_[left]]));
    return found == vocabulary_.merges.end() ? nullptr : &found->second;
  }

  void offer(int32_t left) {
    if (const Merge* merge = merge_at(left)) candidates_.push({merge->rank, left});
  }

  void join(int32_t left, int32_t id) {
    const int32_t gone = next_[left];
    ids_[left] = id;
    ids_[gone] = kNone;
    next_[left] = next_[gone];
    if (next_[left] != kNone) previous_[next_[left]] = left;
    offer(previous_[left]);
    offer(left);
  }

  const ClipVocabulary& vocabulary_;
  std::vector<int32_t> ids_, previous_, next_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

size_t contraction_length(std::u32string_view text) {
  for (const std::u32string_view contraction : {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"})
    if (text.starts_with(contraction)) return contraction.size();
  return 0;
}

bool is_other(char32_t c) { return !is_letter(c) && !is_number(c) && !is_white_space(c); }

// The length of the piece at the start of `text`, which does not start with white space.
size_t piece_length(std::u32string_view text) {
  if (const size_t length = contraction_length(text)) return length;
  if (is_number(text[0])) return 1;
  const auto belongs = is_letter(text[0]) ? is_letter : is_other;
  size_t length = 1;
  while (length < text.size() && belongs(text[length])) ++length;
  return length;
}

void encode_piece(const ClipVocabulary& vocabulary, std::u32string_view piece, std::vector<int32_t>& ids) {
  std::string bytes;
  for (const char32_t c : piece) append_utf8(c, bytes);
  std::vector<int32_t> symbols;
  for (const char byte : bytes) symbols.push_back(vocabulary.byte_ids[static_cast<uint8_t>(byte)]);
  symbols.back() = vocabulary.last_byte_ids[static_cast<uint8_t>(bytes.back())];
  PieceMerger(vocabulary, std::move(symbols)).append_to(ids);
}

// Encodes text without special strings. White space only separates pieces, so it needs no folding.
void encode_part(const ClipVocabulary& vocabulary, std::string_view part, std::vector<int32_t>& ids) {
  std::u32string lower;
  for (const char32_t c : to_nfc(part)) append_lower(c, lower);
  for (std::u32string_view rest = lower; !rest.empty();) {
    const bool blank = is_white_space(rest[0]);
    const size_t length = blank ? 1 : piece_length(rest);
    if (!blank) encode_piece(vocabulary, rest.substr(0, length), ids);
    rest.remove_prefix(length);
  }
}

}  // namespace

Result<ClipTokenizer> ClipTokenizer::load_folder(const std::filesystem::path& folder) {
  VENEER_TRY(vocabulary, read_clip_folder(folder));
  return ClipTokenizer(std::move(vocabulary));
}

Result<ClipTokenizer> ClipTokenizer::load_merge_list(const std::filesystem::path& file) {
  VENEER_TRY(vocabulary, read_clip_merge_list(file));
  return ClipTokenizer(std::move(vocabulary));
}

Result<std::vector<int32_t>> ClipTokenizer::encode(std::string_view text) const {
  VENEER_TRY_STATUS(check_text(text, "text"));
  const std::string_view start_text = kStartText, end_text = kEndText;
  std::vector<int32_t> ids;
  while (true) {
    const size_t start = text.find(start_text), end = text.find(end_text), cut = std::min(start, end);
    encode_part(vocabulary_, text.substr(0, cut), ids);
    if (cut == std::string_view::npos) return ids;
    ids.push_back(start < end ? vocabulary_.start_id : vocabulary_.end_id);
    text.remove_prefix(cut + (start < end ? start_text : end_text).size());
  }
}

}  // namespace veneer::text
