// Where the two layouts of torch.save keep the object and the numbers.
#include "io/torch_checkpoint.h"

#include <algorithm>
#include <optional>

#include "io/byte_reader.h"
#include "io/printable.h"
#include "io/zip.h"

namespace veneer::io {
namespace {

using Kind = PickleValue::Kind;
using Bytes = std::span<const std::byte>;

constexpr std::string_view kObjectName = "/data.pkl";
constexpr std::string_view kLegacyMagic = "\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19";  // little endian
constexpr int64_t kLegacyProtocol = 1001;

template <typename... Parts>
Error fault(ErrorCode code, std::string_view name, const Parts&... what) {
  return {code, concat(name, ": ", what...), std::string(name)};
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The folder that all records of an archive lie in; empty when there is no object.
std::optional<std::string> root_of(const ZipEntries& entries) {
  for (const auto& [entry, ignored] : entries)
    if (entry.ends_with(kObjectName) && entry.find('/') == entry.size() - kObjectName.size())
      return std::string(entry.substr(0, entry.size() - kObjectName.size()));
  return std::nullopt;
}

// TorchScript archives hold a program and its constants beside the tensors.
bool is_torch_script(const ZipEntries& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.first.ends_with("/constants.pkl") || contains(entry.first, "/code/");
  });
}

using Records = std::map<std::string_view, Bytes>;

// Reads the numbers of each storage in the order of `keys`. Their types are those that the object gives them.
Result<Records> read_legacy_records(ByteReader& in, const Pickle& object, const Pickle& keys, std::string_view name) {
  std::map<std::string_view, const PickleStorage*> storages;
  for (const PickleStorage& storage : object.storages) storages.emplace(storage.key, &storage);
  Records records;
  for (const PickleValue& key : keys.sequences[keys.result.index()]) {
    const auto storage = storages.find(key.text);
    if (key.kind != Kind::kText || storage == storages.end())
      return fault(ErrorCode::kBadFile, name, "the storage ", printable(key.text),
                   " belongs to no tensor; the file is damaged");
    VENEER_TRY(values, in.number<uint64_t>());
    const uint64_t size = find_safetensors_type(storage->second->type->type)->bits / 8;
    if (values > in.left() / size)
      return fault(ErrorCode::kBadFile, name, "the storage ", printable(key.text), " takes ", values, " values of ",
                   size, " bytes, found ", in.left(), " bytes; the file is cut short, download it again");
    VENEER_TRY(bytes, in.run(values * size));
    records.emplace(key.text, bytes);
  }
  return records;
}

// Takes the next pickle of a row.
Result<Pickle> next_pickle(ByteReader& in, Bytes file, std::string_view name) {
  VENEER_TRY(pickle, run_pickle(file.subspan(in.position()), name));
  VENEER_TRY_STATUS(in.run(pickle.bytes));
  return pickle;
}

}  // namespace

Result<TorchTensors> parse_torch_zip(Bytes file, std::string_view name) {
  VENEER_TRY(entries, read_zip(file, name));
  if (is_torch_script(entries))
    return fault(ErrorCode::kUnsupported, name,
                 "is a TorchScript archive, a program with its weights; get the model as safetensors");
  const std::optional<std::string> root = root_of(entries);
  if (!root)
    return fault(ErrorCode::kUnsupported, name,
                 "is a zip archive without a data.pkl, so it is no PyTorch checkpoint; unpack it first");
  if (const auto order = entries.find(concat(*root, "/byteorder"));
      order != entries.end() && text_of(order->second) != "little")
    return fault(ErrorCode::kUnsupported, name, "the byte order of its numbers is \"",
                 printable(text_of(order->second)), "\", expected \"little\"");
  VENEER_TRY(object, run_pickle(entries.at(concat(*root, kObjectName)), concat(name, ": data.pkl")));
  const auto find_record = [&](const PickleStorage& storage) -> Result<Bytes> {
    const auto record = entries.find(concat(*root, "/data/", storage.key));
    if (record != entries.end()) return record->second;
    return fault(ErrorCode::kBadFile, name, "the record data/", printable(storage.key),
                 " is missing; the file is damaged");
  };
  return collect_torch_tensors(object, find_record, name);
}

Result<TorchTensors> parse_torch_legacy(Bytes file, std::string_view name) {
  ByteReader in(file, name);
  VENEER_TRY(magic, next_pickle(in, file, name));
  if (magic.result.kind != Kind::kBigInteger || magic.result.text != kLegacyMagic)
    return fault(ErrorCode::kUnsupported, name,
                 "is a Python pickle, but no PyTorch checkpoint; get the model as safetensors");
  VENEER_TRY(protocol, next_pickle(in, file, name));
  if (protocol.result.kind != Kind::kInteger || protocol.result.number != kLegacyProtocol)
    return fault(ErrorCode::kUnsupported, name, "the protocol of the checkpoint is ", protocol.result.number,
                 ", expected ", kLegacyProtocol);
  VENEER_TRY(system, next_pickle(in, file, name));
  const PickleValue* little_endian = system.find(system.result, "little_endian");
  if (little_endian && little_endian->number == 0)
    return fault(ErrorCode::kUnsupported, name, "its numbers are big-endian; get the model as safetensors");
  VENEER_TRY(object, next_pickle(in, file, name));
  VENEER_TRY(keys, next_pickle(in, file, name));
  if (keys.result.kind != Kind::kSequence)
    return fault(ErrorCode::kBadFile, name, "the list of storages is missing; the file is damaged");
  VENEER_TRY(records, read_legacy_records(in, object, keys, name));
  const auto find_record = [&](const PickleStorage& storage) -> Result<Bytes> {
    const auto record = records.find(storage.key);
    if (record != records.end()) return record->second;
    return fault(ErrorCode::kBadFile, name, "the storage ", printable(storage.key), " is missing; the file is damaged");
  };
  return collect_torch_tensors(object, find_record, name);
}

}  // namespace veneer::io
