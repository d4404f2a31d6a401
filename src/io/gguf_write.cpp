// The head of a GGUF file and the places of its tensors.
#include "io/gguf_write.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "core/format.h"
#include "io/gguf_header.h"
#include "io/image_text.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

constexpr uint64_t kAlignment = 32;

uint64_t aligned(uint64_t position) { return (position + kAlignment - 1) / kAlignment * kAlignment; }

const GgufType* find_type(std::string_view name) {
  const auto found = std::ranges::find(gguf_types(), name, &GgufType::name);
  return found == gguf_types().end() || found->block_values == 0 ? nullptr : &*found;
}

// The kinds of values, by number, in the order of GgufValue's alternatives.
constexpr uint32_t kKinds[] = {8, 7, 4, 5, 6, 9};
constexpr uint32_t kI32 = 5;
static_assert(std::size(kKinds) == std::variant_size_v<GgufValue>);

// Appends numbers and texts, little endian.
class HeadWriter {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    head_.append(bytes, sizeof(T));
  }
  void put(const std::string& text) {
    put(uint64_t{text.size()});
    head_ += text;
  }
  void put(const std::vector<int32_t>& items) {
    put(kI32);
    put(uint64_t{items.size()});
    for (const int32_t item : items) put(item);
  }
  void put_pair(const std::string& key, const GgufValue& value) {
    put(key);
    put(kKinds[value.index()]);
    std::visit([this](const auto& item) { put(item); }, value);
  }
  void put_record(const TensorPlan& tensor, uint64_t offset) {
    put(tensor.name);
    put(static_cast<uint32_t>(tensor.shape.rank()));
    for (size_t i = tensor.shape.rank(); i > 0; --i) put(tensor.shape[i - 1]);
    put(find_type(tensor.type)->id);
    put(offset);
  }
  std::string finish() && {
    head_.resize(aligned(head_.size()));
    return std::move(head_);
  }

 private:
  std::string head_ = "GGUF";
};

template <typename... Parts>
Error fault(ErrorCode code, const std::string& name, const Parts&... what) {
  return {code, concat(printable(name), ": ", what...), name};
}

// Of a key or a tensor's name, among those before it.
Status check_name(const std::string& name, std::set<std::string_view>& names) {
  if (text_from_bytes(name) != name) return fault(ErrorCode::kBadFile, name, "is not UTF-8 and cannot be written");
  if (name.size() > kGgufMaxNameBytes)
    return fault(ErrorCode::kBadFile, name, "has ", name.size(), " bytes, GGUF takes at most ", kGgufMaxNameBytes);
  if (!names.insert(name).second) return fault(ErrorCode::kBadFile, name, "would occur twice in the file");
  return {};
}

Result<uint64_t> bytes_of(const TensorPlan& tensor) {
  const auto unsupported = [&](const auto&... what) {
    return fault(ErrorCode::kUnsupported, tensor.name, what..., "; write another type or format");
  };
  const GgufType* type = find_type(tensor.type);
  const Shape& shape = tensor.shape;
  if (!type) return unsupported("GGUF has no type ", printable(tensor.type));
  if (shape.rank() > kGgufMaxDimensions)
    return unsupported("GGUF holds at most ", kGgufMaxDimensions, " dimensions, found ", shape.to_string());
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 1; }))
    return unsupported("GGUF holds no empty tensors, found ", shape.to_string());
  if (const int64_t row = shape.rank() == 0 ? 1 : shape.back(); row % type->block_values != 0)
    return unsupported("rows of ", row, " values are no whole number of ", type->name, " blocks of ",
                       type->block_values);
  return static_cast<uint64_t>(shape.elements() / type->block_values * type->block_bytes);
}

}  // namespace

bool gguf_can_hold(std::string_view type) { return find_type(type) != nullptr; }

Result<FileLayout> gguf_layout(std::span<const TensorPlan> tensors, const GgufMetadata& metadata) {
  constexpr uint32_t kVersion = 3;
  std::set<std::string_view> names, keys;
  FileLayout layout;
  HeadWriter head;
  head.put(kVersion);
  head.put(uint64_t{tensors.size()});
  head.put(uint64_t{metadata.size()});
  for (const auto& [key, value] : metadata) {
    VENEER_TRY_STATUS(check_name(key, keys));
    head.put_pair(key, value);
  }
  uint64_t offset = 0;
  for (const TensorPlan& tensor : tensors) {
    VENEER_TRY_STATUS(check_name(tensor.name, names));
    VENEER_TRY(bytes, bytes_of(tensor));
    head.put_record(tensor, offset);
    layout.places.push_back({offset, bytes});
    offset = aligned(offset + bytes);
  }
  layout.head = std::move(head).finish();
  for (FileLayout::Place& place : layout.places) place.begin += layout.head.size();
  layout.file_bytes = layout.head.size() + offset;
  return layout;
}

std::pair<std::string, GgufValue> gguf_true_shape(std::string_view name, const Shape& shape) {
  std::vector<int32_t> sizes;
  for (const int64_t size : shape) {
    VENEER_CHECK(size <= std::numeric_limits<int32_t>::max());
    sizes.push_back(static_cast<int32_t>(size));
  }
  return {concat(kGgufTrueShapePrefix, name), std::move(sizes)};
}

}  // namespace veneer::io
