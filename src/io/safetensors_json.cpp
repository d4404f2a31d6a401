// A SAX reader that follows the header's three levels: file, tensor or metadata, list of numbers.
#include "io/safetensors_json.h"

#include <limits>
#include <utility>

#include "core/json.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(SafetensorsHeader& header) : header_(header) {}
  const Error& error() const { return error_; }  // code and sentence, without the file's name

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t value) override { return unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected(text); }
  bool binary(binary_t&) override { return unexpected("bytes"); }
  bool number_unsigned(number_unsigned_t value) override;
  bool string(string_t& text) override;
  bool key(string_t& name) override;
  bool start_object(std::size_t) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    return fail(concat("the header is not valid JSON at byte ", position, " (", printable(reason(error.what())), ")"));
  }

 private:
  enum class Level { kFile, kTop, kTensor, kShape, kOffsets, kMetadata };
  enum class Field { kType = 0, kShape = 1, kOffsets = 2, kOther };
  static constexpr const char* kFieldNames[] = {"dtype", "shape", "data_offsets"};

  bool fail(std::string message, ErrorCode code = ErrorCode::kBadFile) {
    error_ = {code, std::move(message), {}};
    return false;
  }
  bool fail_tensor(std::string_view what, ErrorCode code = ErrorCode::kBadFile) {
    return fail(concat("tensor ", printable(name_), ": ", what), code);
  }
  bool unexpected(std::string_view found);
  // True inside a value that a later version of the format may have added to a tensor's entry.
  bool skipping() const { return skipped_ > 0 || (level_ == Level::kTensor && field_ == Field::kOther); }
  bool begin_field(std::string_view name);
  bool add_dimension(uint64_t value);
  bool add_offset(uint64_t value);
  bool end_tensor();

  // The library's text is "[json.exception.parse_error.101] parse error at line 1, column 1: <reason>".
  static std::string_view reason(std::string_view what) {
    const size_t colon = what.find(": ");
    return colon == std::string_view::npos ? what : what.substr(colon + 2);
  }

  SafetensorsHeader& header_;
  Error error_;
  Level level_ = Level::kFile;
  size_t skipped_ = 0;  // open brackets of a value that is not read
  std::string name_;    // key of the top level
  std::string entry_;   // key inside the metadata
  bool metadata_seen_ = false;

  // The tensor that is being read.
  SafetensorsTensor tensor_;
  Field field_ = Field::kOther;
  unsigned fields_seen_ = 0;  // bit per Field
  std::vector<int64_t> dims_;
  size_t offsets_ = 0;
};

bool HeaderReader::key(string_t& name) {
  if (skipped_ > 0) return true;
  if (level_ == Level::kTensor) return begin_field(name);
  if (level_ == Level::kMetadata) {
    entry_ = std::move(name);
    return !header_.metadata.contains(entry_) ||
           fail(concat("the metadata key ", printable(entry_), " occurs twice; save the file again"));
  }
  name_ = std::move(name);
  if (name_ != kMetadataKey || !std::exchange(metadata_seen_, true)) return true;
  return fail(concat("the key ", kMetadataKey, " occurs twice; save the file again"));
}

bool HeaderReader::begin_field(std::string_view name) {
  field_ = Field::kOther;
  for (const Field known : {Field::kType, Field::kShape, Field::kOffsets})
    if (name == kFieldNames[static_cast<size_t>(known)]) field_ = known;
  if (field_ == Field::kOther) return true;
  const unsigned bit = 1u << static_cast<unsigned>(field_);
  if (fields_seen_ & bit) return fail_tensor(concat("has \"", name, "\" twice; save the file again"));
  fields_seen_ |= bit;
  return true;
}

bool HeaderReader::unexpected(std::string_view found) {
  if (skipping()) return true;
  const std::string but_found = concat(", found ", printable(found));
  switch (level_) {
    case Level::kFile: return fail(concat("the header must be a JSON object", but_found));
    case Level::kTop: return fail_tensor(concat("its entry must be an object", but_found));
    case Level::kMetadata: return fail(concat("metadata ", printable(entry_), ": must be a text", but_found));
    case Level::kTensor:
      return fail_tensor(concat("\"", kFieldNames[static_cast<size_t>(field_)], "\" must be ",
                                field_ == Field::kType ? "a text" : "a list", but_found));
    case Level::kShape: return fail_tensor(concat("\"shape\" must hold integers from 0 up", but_found));
    case Level::kOffsets: return fail_tensor(concat("\"data_offsets\" must hold integers from 0 up", but_found));
  }
  return false;
}

bool HeaderReader::number_unsigned(number_unsigned_t value) {
  if (skipping()) return true;
  if (level_ == Level::kShape) return add_dimension(value);
  if (level_ == Level::kOffsets) return add_offset(value);
  return unexpected(std::to_string(value));
}

bool HeaderReader::add_dimension(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return fail_tensor(concat("the size ", value, " is beyond counting; the file is damaged"));
  if (dims_.size() == Shape::kMaxRank)
    return fail_tensor(concat("has more than ", Shape::kMaxRank, " dimensions, which this program does not support"),
                       ErrorCode::kUnsupported);
  dims_.push_back(static_cast<int64_t>(value));
  return true;
}

bool HeaderReader::add_offset(uint64_t value) {
  if (offsets_ == 2) return fail_tensor("\"data_offsets\" must be two numbers, found more");
  (offsets_++ == 0 ? tensor_.begin : tensor_.end) = value;
  return true;
}

bool HeaderReader::string(string_t& text) {
  if (skipping()) return true;
  if (level_ == Level::kMetadata) {
    header_.metadata.emplace(std::move(entry_), std::move(text));
    return true;
  }
  if (level_ != Level::kTensor || field_ != Field::kType) return unexpected(text);
  tensor_.type = find_safetensors_type(text);
  return tensor_.type != nullptr || fail_tensor(concat("unknown type ", printable(text),
                                                       "; the file is damaged or newer "
                                                       "than this program"));
}

bool HeaderReader::start_object(std::size_t) {
  if (skipping()) {
    ++skipped_;
    return true;
  }
  if (level_ == Level::kFile) {
    level_ = Level::kTop;
    return true;
  }
  if (level_ != Level::kTop) return unexpected("an object");
  level_ = name_ == kMetadataKey ? Level::kMetadata : Level::kTensor;
  tensor_ = {};
  dims_.clear();
  offsets_ = 0;
  fields_seen_ = 0;
  field_ = Field::kOther;
  return true;
}

bool HeaderReader::end_object() {
  if (skipped_ > 0) {
    --skipped_;
    return true;
  }
  if (level_ == Level::kTensor && !end_tensor()) return false;
  level_ = level_ == Level::kTop ? Level::kFile : Level::kTop;
  return true;
}

bool HeaderReader::end_tensor() {
  for (const Field needed : {Field::kType, Field::kShape, Field::kOffsets})
    if (!(fields_seen_ & (1u << static_cast<unsigned>(needed))))
      return fail_tensor(concat("has no \"", kFieldNames[static_cast<size_t>(needed)], "\""));
  tensor_.name = name_;
  tensor_.shape = Shape(std::span<const int64_t>(dims_));
  header_.tensors.push_back(std::move(tensor_));
  return true;
}

bool HeaderReader::start_array(std::size_t) {
  if (skipping()) {
    ++skipped_;
    return true;
  }
  if (level_ == Level::kTensor && field_ == Field::kShape)
    level_ = Level::kShape;
  else if (level_ == Level::kTensor && field_ == Field::kOffsets)
    level_ = Level::kOffsets;
  else
    return unexpected("a list");
  return true;
}

bool HeaderReader::end_array() {
  if (skipped_ > 0) {
    --skipped_;
    return true;
  }
  if (level_ == Level::kOffsets && offsets_ != 2)
    return fail_tensor(concat("\"data_offsets\" must be two numbers, found ", offsets_));
  level_ = Level::kTensor;
  return true;
}

}  // namespace

Status read_safetensors_json(std::string_view text, std::string_view name, SafetensorsHeader& header) {
  // The JSON library takes a NUL for the end of the text; in a file it is neither blank nor JSON.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    return Error{ErrorCode::kBadFile,
                 concat(name, ": the header is not valid JSON at byte ", nul + 1, " (a zero byte)"), std::string(name)};
  HeaderReader reader(header);
  if (Json::sax_parse(text.begin(), text.end(), &reader)) return {};
  return Error{reader.error().code, concat(name, ": ", reader.error().message), std::string(name)};
}

}  // namespace veneer::io
