// Writing safetensors: the header as text, then the tensors' bytes, the widest types first so that each stays aligned.
#include "io/safetensors_write.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "core/json.h"
#include "io/printable.h"
#include "io/safetensors_header.h"

namespace veneer::io {
namespace {

constexpr size_t kAlignment = 8;                            // of the data's start, by blanks behind the JSON
constexpr std::string_view kMetadataName = "__metadata__";  // no tensor may have it

Result<std::string> quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    return Error{
        ErrorCode::kBadFile, concat("the text \"", printable(text), "\" is not UTF-8 and cannot be written"), {}};
  }
}

void check_caller(const std::vector<TensorToWrite>& tensors) {
  std::set<std::string_view> names;
  for (const TensorToWrite& tensor : tensors) {
    const SafetensorsType* type = find_safetensors_type(tensor.type);
    VENEER_CHECK(type != nullptr && stored_bytes(*type, tensor.shape) == tensor.bytes.size());
    VENEER_CHECK(names.insert(tensor.name).second);
  }
}

Result<FileLayout> layout_of(const std::vector<TensorToWrite>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  check_caller(tensors);
  std::vector<TensorPlan> plans;
  for (const TensorToWrite& tensor : tensors) plans.push_back({tensor.name, std::string(tensor.type), tensor.shape});
  return safetensors_layout(plans, metadata);
}

Result<std::string> metadata_text(const std::map<std::string, std::string>& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    VENEER_TRY(quoted_key, quoted(key));
    VENEER_TRY(quoted_value, quoted(value));
    text += concat(text.empty() ? "" : ",", quoted_key, ":", quoted_value);
  }
  return concat("\"__metadata__\":{", text, "}");
}

// Fills in sizes and checks names and types; positions come later.
Status measure(std::span<const TensorPlan> tensors, FileLayout& layout) {
  std::set<std::string_view> names = {kMetadataName};
  for (const TensorPlan& tensor : tensors) {
    const SafetensorsType* type = find_safetensors_type(tensor.type);
    const auto bytes = type ? stored_bytes(*type, tensor.shape) : std::nullopt;
    if (!bytes)
      return Error{ErrorCode::kUnsupported,
                   concat("tensor ", printable(tensor.name), ": safetensors cannot hold ", printable(tensor.type), " ",
                          tensor.shape.to_string(), "; write another type or format"),
                   tensor.name};
    if (!names.insert(tensor.name).second)
      return Error{ErrorCode::kBadFile,
                   concat("tensor ", printable(tensor.name), ": the name would occur twice in the file"), tensor.name};
    layout.places.push_back({0, *bytes});
  }
  return {};
}

// Indexes of the tensors in the order of their bytes.
std::vector<size_t> file_order(std::span<const TensorPlan> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto bits = [&](size_t i) { return find_safetensors_type(tensors[i].type)->bits; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return bits(a) != bits(b) ? bits(a) > bits(b) : tensors[a].name < tensors[b].name;
  });
  return order;
}

// The JSON as the file has it: its length in front, blanks behind.
std::string framed(std::string json) {
  json.append((kAlignment - json.size() % kAlignment) % kAlignment, ' ');
  std::string head;
  for (size_t i = 0; i < 8; ++i) head += static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i) & 0xFF);
  return head + json;
}

}  // namespace

Result<FileLayout> safetensors_layout(std::span<const TensorPlan> tensors,
                                      const std::map<std::string, std::string>& metadata) {
  FileLayout layout;
  VENEER_TRY_STATUS(measure(tensors, layout));
  std::string json;
  if (!metadata.empty()) {
    VENEER_TRY(text, metadata_text(metadata));
    json = std::move(text);
  }
  uint64_t position = 0;
  for (const size_t i : file_order(tensors)) {
    VENEER_TRY(name, quoted(tensors[i].name));
    layout.places[i].begin = position;
    const uint64_t end = position + layout.places[i].bytes;
    json += concat(json.empty() ? "" : ",", name, ":{\"dtype\":\"", tensors[i].type,
                   "\",\"shape\":", tensors[i].shape.to_string(), ",\"data_offsets\":[", position, ",", end, "]}");
    position = end;
  }
  layout.head = framed(concat("{", json, "}"));
  for (FileLayout::Place& place : layout.places) place.begin += layout.head.size();
  layout.file_bytes = layout.head.size() + position;
  return layout;
}

Result<std::vector<std::byte>> encode_safetensors(const std::vector<TensorToWrite>& tensors,
                                                  const std::map<std::string, std::string>& metadata) {
  VENEER_TRY(layout, layout_of(tensors, metadata));
  std::vector<std::byte> out(layout.file_bytes);
  std::ranges::copy(std::as_bytes(std::span(layout.head)), out.begin());
  for (size_t i = 0; i < tensors.size(); ++i)
    std::ranges::copy(tensors[i].bytes, out.begin() + static_cast<std::ptrdiff_t>(layout.places[i].begin));
  return out;
}

Status write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  VENEER_TRY(layout, layout_of(tensors, metadata));
  VENEER_TRY(writer, TensorFileWriter::create(path, std::move(layout)));
  for (size_t i = 0; i < tensors.size(); ++i) VENEER_TRY_STATUS(writer->write(i, 0, tensors[i].bytes));
  return writer->commit();
}

}  // namespace veneer::io
