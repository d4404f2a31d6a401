// Reading and checking of spiece.model and tokenizer.json.
#include "text/t5_vocabulary.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/files.h"
#include "core/format.h"
#include "core/json.h"
#include "text/protobuf.h"

namespace veneer::text {
namespace {

constexpr uint64_t kMaxFileBytes = 32u << 20;  // T5's own files have up to 2.4 MB
constexpr size_t kMaxPieces = 1u << 20;
constexpr size_t kMaxPieceBytes = 512;  // the longest one of T5 has 48; bounds the search from every character

// What a piece may be, by the numbers of sentencepiece_model.proto.
enum class Kind : uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

struct TypedPiece {
  std::string text;
  double score = 0;
  Kind kind = Kind::kNormal;
};

class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(const std::string& name) : name_(name) {}

  // Ids count in the order of adding.
  Status add(TypedPiece piece) {
    const auto id = vocabulary_.size++;
    if (static_cast<size_t>(id) >= kMaxPieces) return bad(concat("has more than ", kMaxPieces, " pieces"));
    if (piece.text.empty() || piece.text.size() > kMaxPieceBytes)
      return bad(concat("piece ", id, " has ", piece.text.size(), " bytes, expected 1 to ", kMaxPieceBytes));
    const auto score = static_cast<float>(piece.score);
    if (!std::isfinite(score)) return bad(concat("piece ", id, " has a score that is not finite"));
    switch (piece.kind) {
      case Kind::kNormal: vocabulary_.pieces.push_back({std::move(piece.text), score, id}); return {};
      case Kind::kUnknown: unknown_ = id; return {};
      case Kind::kControl:
        if (piece.text == "</s>") end_ = id;
        if (piece.text == "<pad>") pad_ = id;
        return {};
      case Kind::kUnused: return {};
      case Kind::kUserDefined:
      case Kind::kByte: break;
    }
    return Error{ErrorCode::kUnsupported,
                 concat(name_, ": piece ", id, " is of a kind that T5 does not have (",
                        static_cast<uint64_t>(piece.kind), "); give the tokenizer of a T5 encoder"),
                 name_};
  }

  Result<T5Vocabulary> finish(std::string_view character_map) && {
    if (!unknown_ || !end_ || !pad_) return bad("lacks one of the pieces <unk>, </s> and <pad>");
    vocabulary_.unknown_id = *unknown_;
    vocabulary_.end_id = *end_;
    vocabulary_.pad_id = *pad_;
    auto& pieces = vocabulary_.pieces;
    std::ranges::sort(pieces, {}, &T5Vocabulary::Piece::text);
    if (const auto twice = std::ranges::adjacent_find(pieces, {}, &T5Vocabulary::Piece::text); twice != pieces.end())
      return bad(concat("pieces ", twice->id, " and ", (twice + 1)->id, " have the same text"));
    VENEER_TRY(characters, CharacterMap::parse(character_map, name_));
    vocabulary_.characters = std::move(characters);
    return std::move(vocabulary_);
  }

  Error bad(const std::string& problem) const { return {ErrorCode::kBadFile, concat(name_, ": ", problem), name_}; }

 private:
  const std::string& name_;
  T5Vocabulary vocabulary_;
  std::optional<int32_t> unknown_, end_, pad_;
};

// Fields of sentencepiece_model.proto.
namespace model {
constexpr uint32_t kPiece = 1, kTrainer = 2, kNormalizer = 3;
}
namespace piece {
constexpr uint32_t kText = 1, kScore = 2, kKind = 3;
}
namespace trainer {
constexpr uint32_t kModelType = 3, kByteFallback = 35;
constexpr uint64_t kUnigram = 1;
}  // namespace trainer
namespace normalizer {
constexpr uint32_t kCharacterMap = 2, kDummyPrefix = 3, kRemoveBlanks = 4, kEscapeBlanks = 5;
}

Result<TypedPiece> read_piece(std::string_view message, const std::string& name) {
  TypedPiece out;
  ProtobufReader reader(message, name);
  while (!reader.at_end()) {
    VENEER_TRY(field, reader.next());
    if (field.number == piece::kText) out.text = field.bytes;
    if (field.number == piece::kScore) out.score = field.as_float();
    if (field.number == piece::kKind) out.kind = static_cast<Kind>(field.value);
  }
  return out;
}

Status check_trainer(std::string_view message, const std::string& name) {
  ProtobufReader reader(message, name);
  while (!reader.at_end()) {
    VENEER_TRY(field, reader.next());
    if ((field.number == trainer::kModelType && field.value != trainer::kUnigram) ||
        (field.number == trainer::kByteFallback && field.value != 0))
      return Error{ErrorCode::kUnsupported,
                   concat(name, ": is no unigram model without byte fallback; give the tokenizer of a T5 encoder"),
                   name};
  }
  return {};
}

// The character map. T5 puts a blank in front, joins blanks and writes them as U+2581; these are the defaults.
Result<std::string_view> read_normalizer(std::string_view message, const std::string& name) {
  std::string_view map;
  ProtobufReader reader(message, name);
  while (!reader.at_end()) {
    VENEER_TRY(field, reader.next());
    if (field.number == normalizer::kCharacterMap) map = field.bytes;
    const bool is_about_blanks = field.number == normalizer::kDummyPrefix ||
                                 field.number == normalizer::kRemoveBlanks || field.number == normalizer::kEscapeBlanks;
    if (is_about_blanks && field.value == 0)
      return Error{ErrorCode::kUnsupported,
                   concat(name, ": treats blanks in another way than T5; give the tokenizer of a T5 encoder"), name};
  }
  return map;
}

// A precompiled map, alone or in a sequence with rules about blanks, which are T5's own anyway.
const Json* find_character_map(const Json& normalizer) {
  if (!normalizer.is_object()) return nullptr;
  if (const auto map = normalizer.find("precompiled_charsmap"); map != normalizer.end())
    return map->is_string() ? &*map : nullptr;
  const auto list = normalizer.find("normalizers");
  if (list == normalizer.end() || !list->is_array()) return nullptr;
  for (const Json& part : *list)
    if (const Json* map = find_character_map(part)) return map;
  return nullptr;
}

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xffu));
  }
  return out;
}

// Texts that the tokenizer's library would find in a prompt; here they are out of reach of text.
std::set<std::string, std::less<>> special_texts(const Json& root) {
  std::set<std::string, std::less<>> texts;
  const auto list = root.find("added_tokens");
  if (list == root.end() || !list->is_array()) return texts;
  for (const Json& token : *list)
    if (token.is_object() && token.contains("content") && token["content"].is_string())
      texts.insert(token["content"].get<std::string>());
  return texts;
}

}  // namespace

Result<T5Vocabulary> parse_t5_model(std::string_view bytes, const std::string& name) {
  VocabularyBuilder builder(name);
  std::string_view character_map;
  ProtobufReader reader(bytes, name);
  while (!reader.at_end()) {
    VENEER_TRY(field, reader.next());
    if (field.number == model::kPiece) {
      VENEER_TRY(piece, read_piece(field.bytes, name));
      VENEER_TRY_STATUS(builder.add(std::move(piece)));
    } else if (field.number == model::kTrainer) {
      VENEER_TRY_STATUS(check_trainer(field.bytes, name));
    } else if (field.number == model::kNormalizer) {
      VENEER_TRY(map, read_normalizer(field.bytes, name));
      character_map = map;
    }
  }
  return std::move(builder).finish(character_map);
}

Result<T5Vocabulary> parse_t5_json(std::string_view text, const std::string& name) {
  VENEER_TRY(root, parse_json(text, name));
  VocabularyBuilder builder(name);
  const Json none;
  const Json& model = root.is_object() && root.contains("model") ? root["model"] : none;
  if (!model.is_object() || !model.contains("vocab") || !model["vocab"].is_array())
    return builder.bad("has no list of pieces under model.vocab; expected the tokenizer.json of a unigram model");
  VENEER_TRY(unknown, json_integer(model, "unk_id", -1, name));
  const auto special = special_texts(root);
  int64_t id = 0;
  for (const Json& entry : model["vocab"]) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      return builder.bad(concat("model.vocab[", id, "] is no pair of a text and a score"));
    auto piece = entry[0].get<std::string>();
    const Kind kind = id == unknown ? Kind::kUnknown : special.contains(piece) ? Kind::kControl : Kind::kNormal;
    VENEER_TRY_STATUS(builder.add({std::move(piece), entry[1].get<double>(), kind}));
    ++id;
  }
  const Json* map = root.contains("normalizer") ? find_character_map(root["normalizer"]) : nullptr;
  const auto table = decode_base64(map ? map->get_ref<const std::string&>() : std::string());
  if (!table) return builder.bad("normalizer: the character map is not base64");
  return std::move(builder).finish(*table);
}

Result<T5Vocabulary> read_t5_vocabulary(const std::filesystem::path& path) {
  std::filesystem::path file = path;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    file = path / "spiece.model";
    if (!std::filesystem::exists(file, error)) file = path / "tokenizer.json";
  }
  VENEER_TRY(bytes, read_text_file(file, kMaxFileBytes));
  return file.extension() == ".json" ? parse_t5_json(bytes, file.string()) : parse_t5_model(bytes, file.string());
}

}  // namespace veneer::text
