// Parts of one module as numbers, with the errors that name them as their file does. Knows no family.
#include "adapt/key_group.h"

#include <cmath>
#include <cstring>

namespace veneer::adapt {
namespace {

template <typename T>
std::vector<int64_t> widen(std::span<const std::byte> bytes) {
  std::vector<int64_t> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof value);
    values[i] = static_cast<int64_t>(value);
  }
  return values;
}

struct IntegerType {
  std::string_view name;
  size_t bytes;
  std::vector<int64_t> (*read)(std::span<const std::byte>);
};

constexpr IntegerType kIntegerTypes[] = {
    {"I64", 8, widen<int64_t>}, {"I32", 4, widen<int32_t>},  {"I16", 2, widen<int16_t>}, {"I8", 1, widen<int8_t>},
    {"U8", 1, widen<uint8_t>},  {"U16", 2, widen<uint16_t>}, {"BOOL", 1, widen<uint8_t>}};

Error no_number(const KeyPart& part) {
  return {ErrorCode::kUnsupported,
          concat("key ", part.key, ": type ", part.type, " is no number that can be used here"), part.key};
}

}  // namespace

const KeyPart* KeyGroup::find(std::string_view part) const {
  const auto found = parts.find(part);
  return found == parts.end() ? nullptr : &found->second;
}

Result<Tensor> KeyGroup::need(std::string_view part) const {
  const KeyPart* found = find(part);
  if (!found) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : parts) names.push_back(name);
    return Error{ErrorCode::kMismatch, concat("module ", module, ": has ", join(names, ", "), " but no ", part),
                 module};
  }
  return as_tensor(*found);
}

Result<Tensor> as_tensor(const KeyPart& part) {
  const codec::Weight& weight = part.weight;
  if (weight.elements() == 0)
    return Error{ErrorCode::kMismatch,
                 concat("key ", part.key, ": shape ", weight.shape.to_string(), " holds nothing (rank 0)"), part.key};
  if (!weight.codec) return no_number(part);
  VENEER_TRY_STATUS(weight.codec->check(weight));
  Tensor tensor = Tensor::zeros(weight.shape);
  weight.decode_rows(0, weight.rows(), tensor.f32());
  int64_t broken = 0;
  for (const float value : tensor.values()) broken += !std::isfinite(value);
  if (broken > 0)
    return Error{ErrorCode::kBadFile, concat("key ", part.key, " has ", broken, " non-finite values"), part.key};
  return tensor;
}

Result<std::vector<int64_t>> KeyGroup::integers(std::string_view part) const {
  const KeyPart* found = find(part);
  if (found && !found->weight.codec && found->weight.elements() > 0) {
    for (const IntegerType& type : kIntegerTypes)
      if (type.name == found->type) {
        if (found->weight.bytes.size() != static_cast<size_t>(found->weight.elements()) * type.bytes)
          return Error{ErrorCode::kBadFile,
                       concat("key ", found->key, ": ", found->weight.bytes.size(), " bytes for ",
                              found->weight.elements(), " values of type ", type.name),
                       found->key};
        return type.read(found->weight.bytes);
      }
    return no_number(*found);
  }
  VENEER_TRY(tensor, need(part));
  std::vector<int64_t> values;
  for (const float value : tensor.values()) {
    if (value != std::trunc(value) || std::abs(value) > 0x1p24f)
      return Error{ErrorCode::kBadFile, concat("key ", found->key, ": ", value, " is no whole number"), found->key};
    values.push_back(static_cast<int64_t>(value));
  }
  return values;
}

Result<double> KeyGroup::number(std::string_view part) const {
  const KeyPart* found = find(part);
  if (found && found->weight.elements() > 1)
    return Error{
        ErrorCode::kMismatch,
        concat("key ", found->key, ": shape ", found->weight.shape.to_string(), " where one number is expected"),
        found->key};
  if (found && !found->weight.codec) {
    VENEER_TRY(values, integers(part));
    return static_cast<double>(values[0]);
  }
  VENEER_TRY(tensor, need(part));
  return static_cast<double>(tensor.f32()[0]);
}

Result<double> KeyGroup::scale_for(int64_t rank) const {
  if (has("scale")) return number("scale");
  const auto r = static_cast<double>(rank);
  if (settings.alpha) return *settings.alpha / (settings.rank_stabilised ? std::sqrt(r) : r);
  if (!has("alpha")) return 1.0;
  VENEER_TRY(alpha, number("alpha"));
  return alpha / r;
}

}  // namespace veneer::adapt
