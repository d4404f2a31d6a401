// One walk through a pickle's containers. They may be shared and may hold themselves, so depth and steps are bounded.
#include "io/torch_tensors.h"

#include <algorithm>
#include <optional>

#include "io/image_text.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

using Kind = PickleValue::Kind;

constexpr int kMaxDepth = 32;
constexpr int kMaxSteps = 1 << 18;
constexpr size_t kMaxNameBytes = 1024;

class Collector {
 public:
  Collector(const Pickle& pickle, const FindRecord& find_record, std::string_view place)
      : pickle_(pickle), find_record_(find_record), place_(place) {}
  Result<TorchTensors> run();

 private:
  template <typename... Parts>
  Error fault(ErrorCode code, const Parts&... what) const {
    return {code, concat(place_, ": ", what...), std::string(place_)};
  }
  template <typename... Parts>
  Error bad_tensor(const std::string& name, const Parts&... what) const {
    return fault(ErrorCode::kBadFile, "tensor ", printable(name), ": ", what..., "; the file is damaged");
  }

  void take_metadata(const PickleValue& dict);
  Status walk(const PickleValue& value, const std::string& name, int depth);
  Status walk_item(const PickleValue& value, std::string_view key, const std::string& name, int depth);
  Status take_tensor(const PickleTensor& tensor, const std::string& name);
  Result<std::vector<int64_t>> integers(const PickleValue& sequence, const std::string& name) const;
  Result<Shape> shape_of(const PickleTensor& tensor, const std::string& name) const;
  Status check_row_major(const PickleTensor& tensor, const Shape& shape, const std::string& name) const;
  Status check_names() const;

  const Pickle& pickle_;
  const FindRecord& find_record_;
  std::string_view place_;
  TorchTensors found_;
  int steps_ = 0;
};

std::optional<std::string> text_of(const PickleValue& value) {
  switch (value.kind) {
    case Kind::kText: return std::string(value.text);
    case Kind::kInteger: return std::to_string(value.number);
    default: return std::nullopt;
  }
}

void Collector::take_metadata(const PickleValue& dict) {
  if (dict.kind != Kind::kDict) return;
  const std::vector<PickleValue>& items = pickle_.dicts[dict.index()];
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto key = text_of(items[i]), value = text_of(items[i + 1]);
    if (key && value) found_.metadata.emplace(text_from_bytes(*key), text_from_bytes(*value));
  }
}

Status Collector::walk(const PickleValue& value, const std::string& name, int depth) {
  if (depth > kMaxDepth || ++steps_ > kMaxSteps)
    return fault(ErrorCode::kUnsupported, "the containers at ", printable(name), " nest deeper than ", kMaxDepth,
                 " levels or hold more than ", kMaxSteps, " values, which is the limit");
  if (value.kind == Kind::kTensor) return take_tensor(pickle_.tensors[value.index()], name);
  if (value.kind == Kind::kDict) {
    const std::vector<PickleValue>& items = pickle_.dicts[value.index()];
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (const auto key = text_of(items[i])) VENEER_TRY_STATUS(walk_item(items[i + 1], *key, name, depth));
  }
  if (value.kind == Kind::kSequence) {
    const std::vector<PickleValue>& items = pickle_.sequences[value.index()];
    for (size_t i = 0; i < items.size(); ++i) VENEER_TRY_STATUS(walk_item(items[i], std::to_string(i), name, depth));
  }
  return {};
}

Status Collector::walk_item(const PickleValue& value, std::string_view key, const std::string& name, int depth) {
  const std::string full = name.empty() ? std::string(key) : concat(name, ".", key);
  if (full.size() > kMaxNameBytes)
    return fault(ErrorCode::kBadFile, "the name ", printable(full), " has ", full.size(), " bytes, expected at most ",
                 kMaxNameBytes);
  return walk(value, full, depth + 1);
}

Result<std::vector<int64_t>> Collector::integers(const PickleValue& sequence, const std::string& name) const {
  std::vector<int64_t> numbers;
  for (const PickleValue& item : pickle_.sequences[sequence.index()]) {
    if (item.kind != Kind::kInteger) return bad_tensor(name, "has sizes or strides that are no integers");
    if (numbers.size() == Shape::kMaxRank)
      return fault(ErrorCode::kUnsupported, "tensor ", printable(name), ": has more than ", Shape::kMaxRank,
                   " dimensions, which this program does not support");
    numbers.push_back(item.number);
  }
  return numbers;
}

// With a number of values, and of the bytes they take, that can be counted.
Result<Shape> Collector::shape_of(const PickleTensor& tensor, const std::string& name) const {
  VENEER_TRY(sizes, integers(tensor.sizes, name));
  const Shape shape{std::span<const int64_t>(sizes)};
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
  if (negative || !stored_bytes(*find_safetensors_type(tensor.storage.type->type), shape))
    return bad_tensor(name, "the shape ", shape.to_string(), " is beyond counting");
  return shape;
}

// A size of 1 has any stride, and so has everything in a tensor without values.
Status Collector::check_row_major(const PickleTensor& tensor, const Shape& shape, const std::string& name) const {
  VENEER_TRY(strides, integers(tensor.strides, name));
  if (strides.size() != shape.rank())
    return bad_tensor(name, "has ", shape.rank(), " sizes and ", strides.size(), " strides");
  bool row_major = true;
  int64_t expected = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    row_major = row_major && (shape[i] == 1 || strides[i] == expected);
    expected *= shape[i];
  }
  if (row_major || shape.elements() == 0) return {};
  return fault(ErrorCode::kUnsupported, "tensor ", printable(name), ": its values lie with the strides ",
               shape_text(strides), " for the shape ", shape.to_string(),
               ", expected row-major order; save it again with .contiguous()");
}

Status Collector::take_tensor(const PickleTensor& tensor, const std::string& name) {
  if (text_from_bytes(name) != name) return bad_tensor(name, "the name is not UTF-8");
  VENEER_TRY(shape, shape_of(tensor, name));
  VENEER_TRY_STATUS(check_row_major(tensor, shape, name));
  const PickleStorage& storage = tensor.storage;
  const int64_t values = shape.elements();
  if (tensor.offset < 0 || tensor.offset > storage.values || values > storage.values - tensor.offset)
    return bad_tensor(name, "takes ", values, " values from value ", tensor.offset, " of the storage ",
                      printable(storage.key), ", which holds ", storage.values);
  VENEER_TRY(record, find_record_(storage));
  const SafetensorsType* type = find_safetensors_type(storage.type->type);
  const uint64_t size = type->bits / 8;
  if (static_cast<uint64_t>(storage.values) > record.size() / size)
    return bad_tensor(name, "the storage ", printable(storage.key), " should hold ", storage.values, " values of ",
                      size, " bytes, found ", record.size(), " bytes");
  const auto bytes = record.subspan(static_cast<size_t>(tensor.offset) * size, static_cast<size_t>(values) * size);
  found_.tensors.push_back({name, type, shape, bytes});
  return {};
}

Status Collector::check_names() const {
  const auto twice = std::adjacent_find(found_.tensors.begin(), found_.tensors.end(),
                                        [](const TorchTensor& a, const TorchTensor& b) { return a.name == b.name; });
  if (twice == found_.tensors.end()) return {};
  return bad_tensor(twice->name, "the name occurs twice");
}

Result<TorchTensors> Collector::run() {
  const PickleValue& top = pickle_.result;
  if (top.kind != Kind::kDict && top.kind != Kind::kSequence)
    return fault(ErrorCode::kBadFile, "holds no dictionary of tensors but another object; it is no checkpoint");
  take_metadata(top);
  const PickleValue* state = pickle_.find(top, "state_dict");
  const bool wrapped = state && state->kind == Kind::kDict;
  VENEER_TRY_STATUS(walk(wrapped ? *state : top, {}, 0));
  std::sort(found_.tensors.begin(), found_.tensors.end(),
            [](const TorchTensor& a, const TorchTensor& b) { return a.name < b.name; });
  VENEER_TRY_STATUS(check_names());
  return std::move(found_);
}

}  // namespace

Result<TorchTensors> collect_torch_tensors(const Pickle& pickle, const FindRecord& find_record,
                                           std::string_view place) {
  return Collector(pickle, find_record, place).run();
}

}  // namespace veneer::io
