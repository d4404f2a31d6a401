// Reading and cross-checking of vocab.json and merge lists.
#include "text/clip_vocabulary.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/files.h"
#include "core/format.h"
#include "core/json.h"
#include "text/gzip.h"
#include "text/unicode.h"

namespace veneer::text {
namespace {

constexpr uint32_t kMaxFileBytes = 32u << 20;  // CLIP's own files have up to 3.3 MB
constexpr size_t kMaxMerges = 1u << 20;
constexpr int64_t kMaxId = (1 << 24) - 1;
constexpr size_t kClipMerges = 48894;
constexpr std::string_view kEndOfWord = "</w>";

using Ids = std::unordered_map<std::string, int32_t>;

struct MergeLine {
  std::string left, right;
  size_t line = 0;  // counted from 1, for messages
};

Error bad_file(const std::string& name, const std::string& problem) {
  return {ErrorCode::kBadFile, concat(name, ": ", problem), name};
}

Error bad_line(const std::string& name, size_t line, const std::string& problem) {
  return bad_file(name, concat("line ", line, ": ", problem));
}

// The byte values in the order of their ids: the printable ones of Latin-1 first.
struct ByteSymbol {
  uint8_t byte;
  char32_t character;
};
std::vector<ByteSymbol> byte_symbols() {
  const auto is_printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
  std::vector<ByteSymbol> symbols;
  for (int b = 0; b < 256; ++b)
    if (is_printable(b)) symbols.push_back({static_cast<uint8_t>(b), static_cast<char32_t>(b)});
  char32_t next = 0x100;
  for (int b = 0; b < 256; ++b)
    if (!is_printable(b)) symbols.push_back({static_cast<uint8_t>(b), next++});
  return symbols;
}

std::string symbol_text(char32_t character) {
  std::string out;
  append_utf8(character, out);
  return out;
}

// Splits a merge list into pairs, at most `limit` of them. A first line that holds "#version" is skipped, as are blank
// lines at the end.
Result<std::vector<MergeLine>> split_merges(std::string_view text, const std::string& name, size_t limit) {
  std::vector<MergeLine> merges;
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  for (size_t line = 1; !text.empty() && merges.size() < limit; ++line) {
    std::string_view content = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(content.size() + 1, text.size()));
    if (line == 1 && contains(content, "#version")) continue;
    if (content.ends_with('\r')) content.remove_suffix(1);
    const size_t blank = content.find(' ');
    if (blank == 0 || blank == std::string_view::npos || content.find(' ', blank + 1) != std::string_view::npos ||
        blank + 1 == content.size())
      return bad_line(name, line, "expected two symbols separated by one blank");
    merges.push_back({std::string(content.substr(0, blank)), std::string(content.substr(blank + 1)), line});
  }
  return merges;
}

// Reads {"text": id, ...} into a hash map in one pass; the ordered objects of core/json.h search linearly on insertion,
// which 49408 keys make slow.
class VocabularyReader : public nlohmann::json_sax<Json> {
 public:
  Ids ids;
  std::string problem;

  bool null() override { return refuse_value(); }
  bool boolean(bool) override { return refuse_value(); }
  bool number_integer(number_integer_t) override { return refuse_value(); }  // only negative ones arrive here
  bool number_float(number_float_t, const string_t&) override { return refuse_value(); }
  bool string(string_t&) override { return refuse_value(); }
  bool binary(binary_t&) override { return refuse_value(); }
  bool start_array(std::size_t) override { return refuse_value(); }
  bool end_array() override { return true; }
  bool end_object() override { return true; }
  bool start_object(std::size_t) override {
    if (inside_) return refuse_value();
    return inside_ = true;
  }
  bool key(string_t& text) override {
    key_ = text;
    return true;
  }
  bool number_unsigned(number_unsigned_t id) override {
    if (!inside_ || id > static_cast<number_unsigned_t>(kMaxId)) return refuse_value();
    if (!ids.emplace(key_, static_cast<int32_t>(id)).second)
      return refuse(concat("the entry \"", key_, "\" occurs twice"));
    if (!used_.insert(static_cast<int32_t>(id)).second)
      return refuse(concat("the entry \"", key_, "\" has the id ", id, " of another entry"));
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(concat("is not valid JSON at byte ", position));
  }

 private:
  bool refuse(std::string why) {
    problem = std::move(why);
    return false;
  }
  bool refuse_value() {
    if (!inside_) return refuse("expected an object of texts and ids");
    return refuse(concat("the entry \"", key_, "\" must be an id from 0 to ", kMaxId));
  }
  bool inside_ = false;
  std::string key_;
  std::unordered_set<int32_t> used_;
};

Result<Ids> read_ids(const std::filesystem::path& path) {
  VENEER_TRY(json, read_text_file(path, kMaxFileBytes));
  VocabularyReader reader;
  if (!Json::sax_parse(json, &reader)) return bad_file(path.string(), reader.problem);
  return std::move(reader.ids);
}

// The ids that CLIP gives to the symbols of a merge list.
Ids derived_ids(const std::vector<MergeLine>& merges) {
  Ids ids;
  int32_t next = 0;
  for (const std::string_view suffix : {std::string_view(), kEndOfWord})
    for (const ByteSymbol& symbol : byte_symbols()) ids[symbol_text(symbol.character).append(suffix)] = next++;
  for (const MergeLine& merge : merges) ids[merge.left + merge.right] = next++;
  ids[kStartText] = next++;
  ids[kEndText] = next++;
  return ids;
}

class VocabularyBuilder {
 public:
  // The names are those of the files that `ids` and the merges come from.
  VocabularyBuilder(Ids ids, std::string ids_name, std::string merges_name)
      : ids_(std::move(ids)), ids_name_(std::move(ids_name)), merges_name_(std::move(merges_name)) {}

  Result<ClipVocabulary> build(const std::vector<MergeLine>& merges) && {
    VENEER_TRY_STATUS(add_bytes());
    vocabulary_.merges.reserve(merges.size());
    for (const MergeLine& merge : merges) VENEER_TRY_STATUS(add_merge(merge));
    VENEER_TRY(start, find(kStartText));
    VENEER_TRY(end, find(kEndText));
    vocabulary_.start_id = start;
    vocabulary_.end_id = end;
    vocabulary_.pad_id = end;
    for (const auto& [text, id] : ids_) vocabulary_.size = std::max(vocabulary_.size, id + 1);
    return std::move(vocabulary_);
  }

  Result<int32_t> find(const std::string& text) const {
    const auto found = ids_.find(text);
    if (found == ids_.end()) return bad_file(ids_name_, concat("has no entry \"", text, "\""));
    return found->second;
  }

 private:
  Status add_bytes() {
    for (const ByteSymbol& symbol : byte_symbols()) {
      const std::string text = symbol_text(symbol.character);
      VENEER_TRY(inner, find(text));
      VENEER_TRY(last, find(concat(text, kEndOfWord)));
      vocabulary_.byte_ids[symbol.byte] = inner;
      vocabulary_.last_byte_ids[symbol.byte] = last;
      known_.insert({inner, last});
    }
    return {};
  }

  Status add_merge(const MergeLine& merge) {
    VENEER_TRY(left, find_part(merge.left, merge.line));
    VENEER_TRY(right, find_part(merge.right, merge.line));
    const auto made = ids_.find(merge.left + merge.right);
    if (made == ids_.end())
      return bad_line(merges_name_, merge.line,
                      concat("makes \"", merge.left, merge.right, "\", which ", ids_name_, " does not list"));
    if (!known_.insert(made->second).second)
      return bad_line(merges_name_, merge.line, concat("makes \"", made->first, "\" a second time"));
    const auto rank = static_cast<int32_t>(vocabulary_.merges.size());
    vocabulary_.merges[pair_key(left, right)] = {rank, made->second};
    return {};
  }

  Result<int32_t> find_part(const std::string& text, size_t line) const {
    const auto found = ids_.find(text);
    if (found == ids_.end() || !known_.contains(found->second))
      return bad_line(merges_name_, line, concat("uses \"", text, "\", which no earlier line makes"));
    return found->second;
  }

  Ids ids_;
  std::string ids_name_, merges_name_;
  std::unordered_set<int32_t> known_;  // ids of the byte symbols and of what the lines so far have made
  ClipVocabulary vocabulary_;
};

// The text of the pad token, given as a string or as an object with "content"; nothing where the file or entry is
// missing.
Result<std::optional<std::string>> read_pad_token(const std::filesystem::path& path) {
  using MaybeText = std::optional<std::string>;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return MaybeText();
  VENEER_TRY(text, read_text_file(path, kMaxFileBytes));
  VENEER_TRY(json, parse_json(text, path.string()));
  const Json token = json.is_object() ? json.value("pad_token", Json()) : Json();
  if (token.is_null()) return MaybeText();
  if (token.is_string()) return MaybeText(token.get<std::string>());
  if (!token.is_object() || !token.contains("content"))
    return bad_file(path.string(), "\"pad_token\" must be a string or an object with \"content\"");
  VENEER_TRY(content, json_string(token, "content", "", path.string()));
  return MaybeText(content);
}

}  // namespace

Result<ClipVocabulary> read_clip_folder(const std::filesystem::path& folder) {
  const auto merges_path = folder / "merges.txt", vocabulary_path = folder / "vocab.json";
  VENEER_TRY(ids, read_ids(vocabulary_path));
  VENEER_TRY(text, read_text_file(merges_path, kMaxFileBytes));
  VENEER_TRY(merges, split_merges(text, merges_path.string(), kMaxMerges));
  VENEER_TRY(pad_token, read_pad_token(folder / "special_tokens_map.json"));
  if (!pad_token) {
    VENEER_TRY(configured, read_pad_token(folder / "tokenizer_config.json"));
    pad_token = std::move(configured);
  }
  std::optional<int32_t> pad_id;
  if (pad_token) {
    const auto found = ids.find(*pad_token);
    if (found == ids.end())
      return bad_file(vocabulary_path.string(), concat("has no entry for the pad token \"", *pad_token, "\""));
    pad_id = found->second;
  }
  VENEER_TRY(vocabulary,
             VocabularyBuilder(std::move(ids), vocabulary_path.string(), merges_path.string()).build(merges));
  vocabulary.pad_id = pad_id.value_or(vocabulary.end_id);
  return vocabulary;
}

Result<ClipVocabulary> read_clip_merge_list(const std::filesystem::path& file) {
  const std::string name = file.string();
  VENEER_TRY(text, read_plain_or_gzip(file, kMaxFileBytes));
  VENEER_TRY(merges, split_merges(text, name, kClipMerges));
  if (merges.size() < kClipMerges)
    return bad_file(name, concat("has ", merges.size(), " merges, CLIP's vocabulary needs ", kClipMerges));
  return VocabularyBuilder(derived_ids(merges), name, name).build(merges);
}

}  // namespace veneer::text
