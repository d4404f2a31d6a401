// Foreign files put together byte by byte: little-endian numbers, GGUF headers, zip archives, pickles. Right or wrong,
// as a test wants them.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veneer::io {

template <typename T>
std::string little(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// GGUF.

inline std::string gguf_text(std::string_view text) { return little(uint64_t{text.size()}).append(text); }

struct GgufRecord {
  std::string name;
  std::vector<uint64_t> sizes;  // fastest first
  uint32_t type = 0;
  uint64_t offset = 0;
};

// A whole file. `pairs` are already encoded (key, kind, value).
inline std::string gguf_file(const std::vector<std::string>& pairs, const std::vector<GgufRecord>& records,
                             std::string_view data, size_t alignment = 32) {
  std::string file = "GGUF" + little(uint32_t{3}) + little(uint64_t{records.size()}) + little(uint64_t{pairs.size()});
  for (const std::string& pair : pairs) file += pair;
  for (const GgufRecord& record : records) {
    file += gguf_text(record.name) + little(static_cast<uint32_t>(record.sizes.size()));
    for (const uint64_t size : record.sizes) file += little(size);
    file += little(record.type) + little(record.offset);
  }
  file.append((alignment - file.size() % alignment) % alignment, '\0');
  return file.append(data);
}

// Zip.

struct ZipRecord {
  std::string name;
  std::string content;
  uint16_t method = 0;                      // 0: stored
  uint16_t flags = 0;                       // 1: encrypted
  std::optional<uint64_t> told_bytes = {};  // when the directory lies about the size
  std::optional<std::string> local_name = {};
};

struct ZipLayout {
  bool zip64 = false;  // all sizes and offsets in extra fields and in the second end record
  std::optional<uint16_t> told_entries = {};
  std::string comment = {};
};

inline std::string zip_file(const std::vector<ZipRecord>& records, const ZipLayout& layout = {}) {
  std::string file, directory;
  const auto narrow = [&](uint64_t value) {
    return little(layout.zip64 ? uint32_t{0xFFFFFFFF} : static_cast<uint32_t>(value));
  };
  for (const ZipRecord& record : records) {
    const uint64_t offset = file.size(), told = record.told_bytes.value_or(record.content.size());
    const std::string& local = record.local_name.value_or(record.name);
    const std::string method = little(record.flags) + little(record.method) + std::string(8, '\0');
    const std::string extra =
        layout.zip64 ? little(uint16_t{1}) + little(uint16_t{24}) + little(told) + little(told) + little(offset) : "";
    file += "PK\3\4" + little(uint16_t{20}) + method + std::string(8, '\0') +
            little(static_cast<uint16_t>(local.size())) + little(uint16_t{0}) + local + record.content;
    directory += "PK\1\2" + little(uint32_t{20}) + method + narrow(told) + narrow(told) +
                 little(static_cast<uint16_t>(record.name.size())) + little(static_cast<uint16_t>(extra.size())) +
                 std::string(10, '\0') + narrow(offset) + record.name + extra;
  }
  const uint64_t begin = file.size(), end = begin + directory.size();
  file += directory;
  if (layout.zip64) {
    file += "PK\6\6" + little(uint64_t{44}) + std::string(12, '\0') + little(uint64_t{records.size()}) +
            little(uint64_t{records.size()}) + little(uint64_t{directory.size()}) + little(begin);
    file += "PK\6\7" + little(uint32_t{0}) + little(end) + little(uint32_t{1});
  }
  const uint16_t entries = layout.told_entries.value_or(static_cast<uint16_t>(records.size()));
  return file + "PK\5\6" + little(uint32_t{0}) + little(entries) + little(entries) +
         little(static_cast<uint32_t>(directory.size())) + narrow(begin) +
         little(static_cast<uint16_t>(layout.comment.size())) + layout.comment;
}

// Pickles, protocol 2. Each function gives the opcodes that leave one value on the stack.

inline std::string pickle(std::string_view body) { return std::string("\x80\x02").append(body).append("."); }
inline std::string p_text(std::string_view text) {
  return "X" + little(static_cast<uint32_t>(text.size())).append(text);
}
inline std::string p_integer(int32_t value) { return "J" + little(value); }
inline std::string p_class(std::string_view module, std::string_view name) {
  return std::string("c").append(module).append("\n").append(name).append("\n");
}
inline std::string p_tuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
inline std::string p_integers(const std::vector<int32_t>& values) {
  std::vector<std::string> items;
  for (const int32_t value : values) items.push_back(p_integer(value));
  return p_tuple(items);
}
inline std::string p_call(const std::string& callee, const std::vector<std::string>& arguments) {
  return callee + p_tuple(arguments) + "R";
}
inline std::string p_dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += p_text(key) + value;
  return out + "u";
}

struct PickledTensor {
  std::vector<int32_t> sizes;
  std::vector<int32_t> strides;
  std::string key = "0";
  int32_t storage_values = 6;
  int32_t offset = 0;
  std::string storage = "FloatStorage";
  bool legacy = false;  // with the sixth item of the old layout
};

inline std::string p_tensor(const PickledTensor& tensor) {
  std::vector<std::string> id = {p_text("storage"), p_class("torch", tensor.storage), p_text(tensor.key), p_text("cpu"),
                                 p_integer(tensor.storage_values)};
  if (tensor.legacy) id.push_back("N");
  return p_call(p_class("torch._utils", "_rebuild_tensor_v2"),
                {p_tuple(id) + "Q", p_integer(tensor.offset), p_integers(tensor.sizes), p_integers(tensor.strides),
                 "\x89", p_class("collections", "OrderedDict") + ")R"});
}

// A checkpoint as torch.save writes it. `records` are those of storages: key and numbers.
inline std::string torch_zip(const std::string& object, const std::vector<std::pair<std::string, std::string>>& records,
                             const ZipLayout& layout = {}) {
  std::vector<ZipRecord> entries = {{"model/data.pkl", pickle(object)}, {"model/byteorder", "little"}};
  for (const auto& [key, numbers] : records) entries.push_back({"model/data/" + key, numbers});
  entries.push_back({"model/version", "3\n"});
  return zip_file(entries, layout);
}

// The layout before PyTorch 1.6.
inline std::string torch_legacy(const std::string& object,
                                const std::vector<std::pair<std::string, std::string>>& records) {
  std::string file = pickle(std::string("\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19")) + pickle(p_integer(1001)) +
                     pickle(p_dict({{"little_endian", "\x88"}})) + pickle(object);
  std::string keys, numbers;
  for (const auto& [key, content] : records) {
    keys += p_text(key);
    numbers += little(uint64_t{content.size() / sizeof(float)}) + content;
  }
  return file + pickle("](" + keys + "e") + numbers;
}

}  // namespace veneer::io
