// Words for stored weights.
#include "pipeline/weight_words.h"

#include "codec/sdnq_layout.h"
#include "core/format.h"

namespace veneer::pipeline {
namespace {

std::string sdnq_type_words(const codec::SdnqType& type) {
  using Kind = codec::SdnqType::Kind;
  switch (type.kind) {
    case Kind::kInteger: return concat(type.is_unsigned ? "uint" : "int", type.bits);
    case Kind::kMinifloat:
      return concat("float", type.bits, "_e", type.exponent, "m", type.mantissa, type.is_unsigned ? "fnu" : "fn");
    case Kind::kE4M3: return "float8_e4m3fn";
    case Kind::kE5M2: return "float8_e5m2";
    case Kind::kF16: return "float16";
    case Kind::kBf16: return "bfloat16";
    case Kind::kF32: return "float32";
  }
  return "?";
}

std::string sdnq_words(const codec::Weight& weight) {
  const auto layout = codec::sdnq_layout(weight);
  if (!layout) return "sdnq, layout not told by the file";
  const int64_t inputs = weight.row_values() / layout->positions;
  std::string words = "sdnq " + sdnq_type_words(layout->type);
  if (layout->is_codebook()) words += ", codebook";
  words += layout->group < inputs ? concat(", groups of ", layout->group) : std::string(", by rows");
  if (layout->rank > 0) words += concat(", low rank ", layout->rank);
  if (layout->rotation > 1) words += concat(", rotated by ", layout->rotation);
  return words;
}

std::string scaled_words(const codec::Weight& weight) {
  std::string_view name = weight.codec->name;
  name.remove_suffix(std::string_view("_scaled").size());
  const codec::Weight* scale = weight.side->find("scale");
  std::string words = concat(name, scale && scale->elements() > 1 ? ", a scale a row" : ", one scale");
  if (const int64_t group = weight.side->setting("rotation", 0); group > 1) words += concat(", rotated by ", group);
  return words;
}

}  // namespace

std::string storage_words(const io::Entry& entry) {
  const codec::Weight& weight = entry.weight;
  if (weight.codec == nullptr) return entry.type_name;
  if (!weight.side) return std::string(weight.codec->name);
  if (weight.codec->name == "sdnq") return sdnq_words(weight);
  if (weight.codec->name.ends_with("_scaled")) return scaled_words(weight);
  return concat(weight.codec->name, ", with scales for blocks");
}

}  // namespace veneer::pipeline
