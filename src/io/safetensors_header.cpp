// The rules of a safetensors header: its length, and that the tensors share out the data without overlap, hole or rest.
#include "io/safetensors_header.h"

#include <algorithm>
#include <tuple>

#include "io/printable.h"
#include "io/safetensors_json.h"

namespace veneer::io {
namespace {

constexpr uint64_t kLengthBytes = 8;

constexpr SafetensorsType kTypes[] = {
    {"F32", 32, "f32"},        {"F16", 16, "f16"},        {"BF16", 16, "bf16"}, {"F64", 64, "f64"},
    {"F8_E4M3", 8, "f8_e4m3"}, {"F8_E5M2", 8, "f8_e5m2"}, {"F8_E8M0", 8, ""},   {"F8_E4M3FNUZ", 8, ""},
    {"F8_E5M2FNUZ", 8, ""},    {"F6_E2M3", 6, ""},        {"F6_E3M2", 6, ""},   {"F4", 4, ""},
    {"C64", 64, ""},           {"BOOL", 8, ""},           {"U8", 8, ""},        {"I8", 8, ""},
    {"U16", 16, ""},           {"I16", 16, ""},           {"U32", 32, ""},      {"I32", 32, ""},
    {"U64", 64, ""},           {"I64", 64, ""},
};

template <typename... Parts>
Error bad_file(std::string_view name, const Parts&... what) {
  return {ErrorCode::kBadFile, concat(name, ": ", what...), std::string(name)};
}

template <typename... Parts>
Error bad_tensor(std::string_view name, const SafetensorsTensor& tensor, const Parts&... what) {
  return bad_file(name, "tensor ", printable(tensor.name), ": ", what...);
}

Result<std::string_view> header_text(std::span<const std::byte> file, std::string_view name) {
  if (file.size() < kLengthBytes)
    return bad_file(name, file.size(), " bytes, a safetensors file has at least ", kLengthBytes, "; download it again");
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<uint64_t>(file[i]) << (8 * i);
  const uint64_t rest = file.size() - kLengthBytes;
  if (length == 0) return bad_file(name, "the header's length is 0, expected at least 2; the file is damaged");
  if (length > kSafetensorsHeaderLimit)
    return bad_file(name, "the header's length is ", length, ", expected at most ", kSafetensorsHeaderLimit,
                    "; the file is damaged");
  if (length > rest)
    return bad_file(name, "the header takes ", length, " bytes, found ", rest,
                    " behind its length; the file is cut short, download it again");
  return std::string_view(reinterpret_cast<const char*>(file.data()) + kLengthBytes, static_cast<size_t>(length));
}

Status check_names(const std::vector<SafetensorsTensor>& tensors, std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const SafetensorsTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return bad_file(name, "tensor ", printable(*twice), ": the key occurs twice in the header; save the file again");
}

Status check_size(const SafetensorsTensor& tensor, std::string_view name) {
  if (tensor.begin > tensor.end)
    return bad_tensor(name, tensor, "begins at byte ", tensor.begin, ", behind its end at ", tensor.end,
                      "; the file is damaged");
  const std::optional<uint64_t> expected = stored_bytes(*tensor.type, tensor.shape);
  if (!expected)
    return bad_tensor(name, tensor, tensor.type->name, " ", tensor.shape.to_string(),
                      " takes no countable number of whole bytes; the file is damaged");
  if (*expected != tensor.end - tensor.begin)
    return bad_tensor(name, tensor, tensor.type->name, " ", tensor.shape.to_string(), " takes ", *expected,
                      " bytes, found ", tensor.end - tensor.begin, "; the file is damaged");
  return {};
}

// The tensors, sorted by their bytes, follow each other from the first byte of the data to the last.
Status check_cover(const std::vector<SafetensorsTensor>& tensors, uint64_t data_bytes, std::string_view name) {
  uint64_t position = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.begin < position)
      return bad_tensor(name, tensor, "shares bytes with another tensor: begins at byte ", tensor.begin, ", expected ",
                        position, "; the file is damaged");
    if (tensor.begin > position)
      return bad_tensor(name, tensor, "begins at byte ", tensor.begin, ", expected ", position,
                        ": the bytes between belong to no tensor; the file is damaged");
    if (tensor.end > data_bytes)
      return bad_tensor(name, tensor, "ends beyond the file: the data takes ", tensors.back().end, " bytes, found ",
                        data_bytes, "; the file is cut short, download it again");
    position = tensor.end;
  }
  if (position < data_bytes)
    return bad_file(name, data_bytes - position, " bytes behind the last tensor: the data takes ", position,
                    " bytes, found ", data_bytes, "; the file is damaged");
  return {};
}

}  // namespace

const SafetensorsType* find_safetensors_type(std::string_view name) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::optional<uint64_t> stored_bytes(const SafetensorsType& type, const Shape& shape) {
  // Zeros are left out of the count, so that no product of some of the sizes can overflow later either.
  int64_t values = 1;
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(values, std::max<int64_t>(size, 1), &values)) return std::nullopt;
  uint64_t bits = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(values), type.bits, &bits)) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file, std::string_view name) {
  VENEER_TRY(text, header_text(file, name));
  SafetensorsHeader header;
  header.data_begin = kLengthBytes + text.size();
  VENEER_TRY_STATUS(read_safetensors_json(text, name, header));
  VENEER_TRY_STATUS(check_names(header.tensors, name));
  for (const SafetensorsTensor& tensor : header.tensors) VENEER_TRY_STATUS(check_size(tensor, name));
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  VENEER_TRY_STATUS(check_cover(header.tensors, file.size() - header.data_begin, name));
  return header;
}

}  // namespace veneer::io
