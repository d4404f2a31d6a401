// Writing safetensors: the header as text, then the tensors' bytes, the widest types first so that each stays aligned.
#include "io/safetensors_write.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "core/json.h"
#include "io/printable.h"
#include "io/safetensors_header.h"

namespace veneer::io {
namespace {

constexpr size_t kAlignment = 8;  // of the data's start, by blanks behind the JSON

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

void sort_for_file(std::vector<TensorToWrite>& tensors) {
  check_caller(tensors);
  const auto bits = [](const TensorToWrite& tensor) { return find_safetensors_type(tensor.type)->bits; };
  std::sort(tensors.begin(), tensors.end(), [&](const TensorToWrite& a, const TensorToWrite& b) {
    return bits(a) != bits(b) ? bits(a) > bits(b) : a.name < b.name;
  });
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

// Everything before the tensors' bytes.
Result<std::string> head_of(const std::vector<TensorToWrite>& tensors,
                            const std::map<std::string, std::string>& metadata) {
  std::string json;
  if (!metadata.empty()) {
    VENEER_TRY(text, metadata_text(metadata));
    json = std::move(text);
  }
  uint64_t position = 0;
  for (const TensorToWrite& tensor : tensors) {
    VENEER_TRY(name, quoted(tensor.name));
    const uint64_t end = position + tensor.bytes.size();
    json += concat(json.empty() ? "" : ",", name, ":{\"dtype\":\"", tensor.type,
                   "\",\"shape\":", tensor.shape.to_string(), ",\"data_offsets\":[", position, ",", end, "]}");
    position = end;
  }
  json = concat("{", json, "}");
  json.append((kAlignment - json.size() % kAlignment) % kAlignment, ' ');
  std::string head;
  for (size_t i = 0; i < 8; ++i) head += static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i) & 0xFF);
  return head + json;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

Error io_error(const std::filesystem::path& path, std::string_view doing) {
  const int reason = errno;
  return {ErrorCode::kIo, concat(path.string(), ": ", doing, " failed: ", std::strerror(reason)), path.string()};
}

// An empty file of its own name beside `path`, with the permissions of an ordinary new file.
Result<std::string> make_temporary(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return io_error(path, "creating");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd, 0666 & ~mask);
  ::close(fd);
  return temporary;
}

}  // namespace

Result<std::vector<std::byte>> encode_safetensors(std::vector<TensorToWrite> tensors,
                                                  const std::map<std::string, std::string>& metadata) {
  sort_for_file(tensors);
  VENEER_TRY(head, head_of(tensors, metadata));
  const auto head_bytes = bytes_of(head);
  std::vector<std::byte> out(head_bytes.begin(), head_bytes.end());
  for (const TensorToWrite& tensor : tensors) out.insert(out.end(), tensor.bytes.begin(), tensor.bytes.end());
  return out;
}

Status write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                         const std::map<std::string, std::string>& metadata) {
  sort_for_file(tensors);
  VENEER_TRY(head, head_of(tensors, metadata));
  VENEER_TRY(temporary, make_temporary(path));
  std::ofstream out(temporary, std::ios::binary);
  const auto put = [&](std::span<const std::byte> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  put(bytes_of(head));
  for (const TensorToWrite& tensor : tensors) put(tensor.bytes);
  out.close();
  if (out && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  Error error = io_error(path, out ? "renaming into place" : "writing");
  ::unlink(temporary.c_str());
  return error;
}

}  // namespace veneer::io
