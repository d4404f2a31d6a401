// Reading of GGUF headers: pairs first, for they hold the alignment and the true shapes, then records, then how the
// tensors lie in the file.
#include "io/gguf_header.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "io/byte_reader.h"
#include "io/image_text.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr uint64_t kSmallestPair = 8 + 4 + 1;
constexpr uint64_t kSmallestRecord = 8 + 4 + 4 + 8;

constexpr GgufType kTypes[] = {
    {0, "F32", 1, 4, "f32"},        {1, "F16", 1, 2, "f16"},         {2, "Q4_0", 32, 18, "q4_0"},
    {3, "Q4_1", 32, 20, "q4_1"},    {4, "Q4_2", 0, 0, ""},           {5, "Q4_3", 0, 0, ""},
    {6, "Q5_0", 32, 22, "q5_0"},    {7, "Q5_1", 32, 24, "q5_1"},     {8, "Q8_0", 32, 34, "q8_0"},
    {9, "Q8_1", 32, 36, ""},        {10, "Q2_K", 256, 84, "q2_K"},   {11, "Q3_K", 256, 110, "q3_K"},
    {12, "Q4_K", 256, 144, "q4_K"}, {13, "Q5_K", 256, 176, "q5_K"},  {14, "Q6_K", 256, 210, "q6_K"},
    {15, "Q8_K", 256, 292, ""},     {16, "IQ2_XXS", 256, 66, ""},    {17, "IQ2_XS", 256, 74, ""},
    {18, "IQ3_XXS", 256, 98, ""},   {19, "IQ1_S", 256, 50, ""},      {20, "IQ4_NL", 32, 18, "iq4_nl"},
    {21, "IQ3_S", 256, 110, ""},    {22, "IQ2_S", 256, 82, ""},      {23, "IQ4_XS", 256, 136, "iq4_xs"},
    {24, "I8", 1, 1, ""},           {25, "I16", 1, 2, ""},           {26, "I32", 1, 4, ""},
    {27, "I64", 1, 8, ""},          {28, "F64", 1, 8, "f64"},        {29, "IQ1_M", 256, 56, ""},
    {30, "BF16", 1, 2, "bf16"},     {31, "Q4_0_4_4", 0, 0, ""},      {32, "Q4_0_4_8", 0, 0, ""},
    {33, "Q4_0_8_8", 0, 0, ""},     {34, "TQ1_0", 256, 54, "tq1_0"}, {35, "TQ2_0", 256, 66, "tq2_0"},
    {36, "IQ4_NL_4_4", 0, 0, ""},   {37, "IQ4_NL_4_8", 0, 0, ""},    {38, "IQ4_NL_8_8", 0, 0, ""},
    {39, "MXFP4", 32, 17, "mxfp4"}, {40, "NVFP4", 64, 36, "nvfp4"},  {41, "Q1_0", 128, 18, ""},
    {42, "Q2_0", 64, 18, ""},
};

// The kinds of values, by number.
enum Kind : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64, kKinds };
constexpr uint64_t kKindBytes[kKinds] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // 0: told by the value itself

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> file, std::string_view name) : file_(file), name_(name), in_(file, name) {}
  Result<GgufHeader> run();

 private:
  template <typename... Parts>
  Error fault(ErrorCode code, const Parts&... what) const {
    return {code, concat(name_, ": ", what...), std::string(name_)};
  }
  template <typename... Parts>
  Error bad(const Parts&... what) const {
    return fault(ErrorCode::kBadFile, what...);
  }

  Status read_start();
  Status check_count(uint64_t count, uint64_t smallest, std::string_view what) const;
  Result<std::string_view> read_string();
  Status read_pair();
  Result<std::string> read_scalar(std::string_view key, uint32_t kind);
  Status read_array(std::string_view key);
  Status skip_strings(uint64_t count);
  Status read_true_shape(std::string_view key, uint32_t kind, uint64_t count);
  Status read_alignment(uint32_t kind);
  Status read_record();
  Status read_shape(GgufTensor& tensor);
  Result<const GgufType*> read_type(const GgufTensor& tensor);
  Status use_true_shape(GgufTensor& tensor) const;
  Status check_places() const;

  template <typename T>
  Result<std::string> number_text() {
    VENEER_TRY(value, in_.number<T>());
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  ByteReader in_;
  GgufHeader header_;
  uint64_t tensors_ = 0, pairs_ = 0;  // as promised
  uint32_t alignment_ = 32;
  std::set<std::string_view> keys_, names_;
  std::map<std::string_view, Shape> true_shapes_;
};

Status HeaderReader::read_start() {
  VENEER_TRY(magic, in_.text(kMagic.size()));
  if (magic != kMagic) return bad("begins with \"", printable(magic), "\", expected \"", kMagic, "\"");
  VENEER_TRY(version, in_.number<uint32_t>());
  if (version != 0 && (version & 0xFFFF) == 0)
    return fault(ErrorCode::kUnsupported, "is a big-endian GGUF file; get the little-endian one");
  if (version != 2 && version != 3)
    return fault(ErrorCode::kUnsupported, "GGUF version ", version, ", expected 2 or 3; convert the model again");
  VENEER_TRY(tensors, in_.number<uint64_t>());
  VENEER_TRY(pairs, in_.number<uint64_t>());
  tensors_ = tensors;
  pairs_ = pairs;
  VENEER_TRY_STATUS(check_count(pairs, kSmallestPair, "pairs of metadata"));
  return check_count(tensors, kSmallestRecord, "tensors");
}

Status HeaderReader::check_count(uint64_t count, uint64_t smallest, std::string_view what) const {
  if (count <= in_.left() / smallest) return {};
  return bad("promises ", count, " ", what, ", which ", in_.left(), " bytes cannot hold; the file is damaged");
}

// Refused when it is not UTF-8: names and keys go into reports and other files.
Result<std::string_view> HeaderReader::read_string() {
  VENEER_TRY(length, in_.number<uint64_t>());
  VENEER_TRY(text, in_.text(length));
  if (text_from_bytes(text) != text) return bad("the name \"", printable(text), "\" is not UTF-8");
  return text;
}

Status HeaderReader::read_pair() {
  VENEER_TRY(key, read_string());
  if (!keys_.insert(key).second) return bad("the key ", printable(key), " occurs twice; save the file again");
  VENEER_TRY(kind, in_.number<uint32_t>());
  if (key == kAlignmentKey) return read_alignment(kind);
  if (kind == kArray) return read_array(key);
  VENEER_TRY(text, read_scalar(key, kind));
  header_.metadata.emplace(key, std::move(text));
  return {};
}

Status HeaderReader::read_alignment(uint32_t kind) {
  if (kind != kU32) return bad(kAlignmentKey, " is of kind ", kind, ", expected ", uint32_t{kU32}, " (u32)");
  VENEER_TRY(alignment, in_.number<uint32_t>());
  if (alignment == 0 || (alignment & (alignment - 1)) != 0)
    return bad(kAlignmentKey, " is ", alignment, ", expected a power of two");
  alignment_ = alignment;
  return {};
}

Result<std::string> HeaderReader::read_scalar(std::string_view key, uint32_t kind) {
  switch (kind) {
    case kU8: return number_text<uint8_t>();
    case kI8: return number_text<int8_t>();
    case kU16: return number_text<uint16_t>();
    case kI16: return number_text<int16_t>();
    case kU32: return number_text<uint32_t>();
    case kI32: return number_text<int32_t>();
    case kF32: return number_text<float>();
    case kU64: return number_text<uint64_t>();
    case kI64: return number_text<int64_t>();
    case kF64: return number_text<double>();
    case kBool: {
      VENEER_TRY(value, in_.number<uint8_t>());
      return std::string(value ? "true" : "false");
    }
    case kString: {
      VENEER_TRY(length, in_.number<uint64_t>());
      VENEER_TRY(text, in_.text(length));
      return text_from_bytes(text);
    }
    default: return bad("the value of ", printable(key), " is of the unknown kind ", kind, "; the file is damaged");
  }
}

Status HeaderReader::read_array(std::string_view key) {
  VENEER_TRY(kind, in_.number<uint32_t>());
  VENEER_TRY(count, in_.number<uint64_t>());
  if (kind == kArray) return bad("the value of ", printable(key), " is an array of arrays, which is not allowed");
  if (kind >= kKinds) return bad("the items of ", printable(key), " are of the unknown kind ", kind);
  const uint64_t smallest = kind == kString ? 8 : kKindBytes[kind];
  VENEER_TRY_STATUS(check_count(count, smallest, concat("items of ", printable(key))));
  if (key.starts_with(kGgufTrueShapePrefix)) return read_true_shape(key, kind, count);
  if (kind == kString) return skip_strings(count);
  VENEER_TRY_STATUS(in_.run(count * smallest));
  return {};
}

Status HeaderReader::skip_strings(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    VENEER_TRY(length, in_.number<uint64_t>());
    VENEER_TRY_STATUS(in_.run(length));
  }
  return {};
}

Status HeaderReader::read_true_shape(std::string_view key, uint32_t kind, uint64_t count) {
  if (kind != kI32 || count > Shape::kMaxRank)
    return bad(printable(key), " must be at most ", Shape::kMaxRank, " sizes of kind i32, found ", count, " of kind ",
               kind);
  std::vector<int64_t> sizes;
  for (uint64_t i = 0; i < count; ++i) {
    VENEER_TRY(size, in_.number<int32_t>());
    if (size < 1) return bad(printable(key), " holds the size ", size, ", expected 1 or more");
    sizes.push_back(size);
  }
  true_shapes_.emplace(key.substr(kGgufTrueShapePrefix.size()), Shape(std::span<const int64_t>(sizes)));
  return {};
}

Status HeaderReader::read_record() {
  VENEER_TRY(name, read_string());
  if (name.size() > kGgufMaxNameBytes)
    return bad("tensor ", printable(name), ": the name has ", name.size(), " bytes, expected at most ",
               kGgufMaxNameBytes);
  if (!names_.insert(name).second) return bad("tensor ", printable(name), ": the name occurs twice");
  GgufTensor tensor;
  tensor.name = name;
  VENEER_TRY_STATUS(read_shape(tensor));
  VENEER_TRY(type, read_type(tensor));
  tensor.type = type;
  VENEER_TRY(offset, in_.number<uint64_t>());
  if (offset % alignment_ != 0)
    return bad("tensor ", printable(name), ": begins at byte ", offset, " of the data, expected a multiple of ",
               alignment_);
  tensor.offset = offset;

  const int64_t row = tensor.shape.rank() == 0 ? 1 : tensor.shape.back();
  if (row % type->block_values != 0)
    return bad("tensor ", printable(name), ": rows of ", row, " values are no whole number of ", type->name,
               " blocks of ", type->block_values);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.shape.elements() / type->block_values, type->block_bytes, &bytes))
    return bad("tensor ", printable(name), ": ", type->name, " ", tensor.shape.to_string(), " is beyond counting");
  tensor.bytes = static_cast<uint64_t>(bytes);
  VENEER_TRY_STATUS(use_true_shape(tensor));
  header_.tensors.push_back(std::move(tensor));
  return {};
}

// The record names the fastest size first; none at all is one value.
Status HeaderReader::read_shape(GgufTensor& tensor) {
  VENEER_TRY(rank, in_.number<uint32_t>());
  if (rank > kGgufMaxDimensions)
    return bad("tensor ", printable(tensor.name), ": has ", rank, " dimensions, expected at most ", kGgufMaxDimensions);
  std::vector<int64_t> sizes;
  int64_t product = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    VENEER_TRY(size, in_.number<int64_t>());
    if (size < 1) return bad("tensor ", printable(tensor.name), ": has the size ", size, ", expected 1 or more");
    if (__builtin_mul_overflow(product, size, &product))
      return bad("tensor ", printable(tensor.name), ": the product of its sizes is beyond counting");
    sizes.insert(sizes.begin(), size);
  }
  tensor.shape = Shape(std::span<const int64_t>(sizes));
  return {};
}

Result<const GgufType*> HeaderReader::read_type(const GgufTensor& tensor) {
  VENEER_TRY(id, in_.number<uint32_t>());
  const auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& type) { return type.id == id; });
  if (found == std::end(kTypes))
    return bad("tensor ", printable(tensor.name), ": unknown type ", id,
               "; the file is damaged or newer than this program");
  if (found->block_values == 0)
    return fault(ErrorCode::kUnsupported, "tensor ", printable(tensor.name), ": the type ", found->name,
                 " was removed from the format; convert the model again");
  return found;
}

// Node-graph tools store convolutions as rows of 256 values and keep the shape beside them.
Status HeaderReader::use_true_shape(GgufTensor& tensor) const {
  const auto found = true_shapes_.find(tensor.name);
  if (found == true_shapes_.end()) return {};
  int64_t product = 1;
  bool countable = true;
  for (const int64_t size : found->second) countable = countable && !__builtin_mul_overflow(product, size, &product);
  if (!countable || product != tensor.shape.elements())
    return bad("tensor ", printable(tensor.name), ": its true shape ", found->second.to_string(), " does not hold the ",
               tensor.shape.elements(), " values of its record");
  tensor.shape = found->second;
  return {};
}

Status HeaderReader::check_places() const {
  const uint64_t data_bytes = file_.size() - header_.data_begin;
  uint64_t end = 0;
  for (const GgufTensor& tensor : header_.tensors) {
    if (tensor.offset > data_bytes || tensor.bytes > data_bytes - tensor.offset)
      return bad("tensor ", printable(tensor.name), ": takes ", tensor.bytes, " bytes from byte ", tensor.offset,
                 " of the data, found ", data_bytes, "; the file is cut short, download it again");
    if (tensor.offset < end)
      return bad("tensor ", printable(tensor.name), ": shares bytes with another tensor: begins at byte ",
                 tensor.offset, ", expected ", end, " or more; the file is damaged");
    end = tensor.offset + tensor.bytes;
  }
  return {};
}

Result<GgufHeader> HeaderReader::run() {
  VENEER_TRY_STATUS(read_start());
  for (uint64_t i = 0; i < pairs_; ++i) VENEER_TRY_STATUS(read_pair());
  for (uint64_t i = 0; i < tensors_; ++i) VENEER_TRY_STATUS(read_record());
  const uint64_t begin = (uint64_t{in_.position()} + alignment_ - 1) / alignment_ * alignment_;
  header_.data_begin = std::min<uint64_t>(begin, file_.size());
  std::sort(header_.tensors.begin(), header_.tensors.end(),
            [](const GgufTensor& a, const GgufTensor& b) { return a.offset < b.offset; });
  VENEER_TRY_STATUS(check_places());
  return std::move(header_);
}

}  // namespace

std::span<const GgufType> gguf_types() { return kTypes; }

Result<GgufHeader> parse_gguf(std::span<const std::byte> file, std::string_view name) {
  return HeaderReader(file, name).run();
}

}  // namespace veneer::io
