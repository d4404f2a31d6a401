// The layouts, and opening of single and sharded files.
#include <algorithm>

#include "core/format.h"
#include "io/container.h"
#include "io/foreign.h"
#include "io/printable.h"
#include "io/shard_index.h"

namespace veneer::io {

extern const Container kGguf, kTorchZip, kTorchLegacy, kSafetensors;

namespace {

// Safetensors last: it has no sign of its own at the beginning, only a length that makes sense.
constexpr const Container* kContainers[] = {&kGguf, &kTorchZip, &kTorchLegacy, &kSafetensors};
constexpr uint64_t kIndexLimit = 16 << 20;

Result<WeightStore> open_file(const std::filesystem::path& path, MappedFile::Mode mode) {
  VENEER_TRY(file, MappedFile::open(path, mode));
  if (auto error = recognise_foreign(file->bytes(), path.string())) return *std::move(error);
  const auto known = std::find_if(std::begin(kContainers), std::end(kContainers),
                                  [&](const Container* container) { return container->sniff(file->bytes()); });
  if (known != std::end(kContainers)) return (*known)->open(std::move(file));
  std::vector<std::string> names;
  for (const Container* container : kContainers) names.emplace_back(container->name);
  return Error{
      ErrorCode::kBadFile,
      concat(path.string(), ": the content (", file->bytes().size(), " bytes) is of no known format, expected ",
             join(names, " or "), "; the file is damaged or cut short, download it again"),
      path.string()};
}

// A tensor may be in one shard only: readers that keep one of two copies disagree on which.
Status add_shard(WeightStore& all, const WeightStore& shard, const std::string& index, const std::string& shard_name) {
  for (const auto& [name, entry] : shard.entries())
    if (all.contains(name))
      return Error{ErrorCode::kBadFile,
                   concat(index, ": tensor ", printable(name), " is in two shards, the second is ",
                          printable(shard_name), "; download the model again"),
                   index};
  all = shard.layered(all);  // no name is in both; the first shard stays the first file
  return {};
}

Result<WeightStore> open_shards(const std::filesystem::path& path, MappedFile::Mode mode) {
  const std::string index_name = path.string();
  VENEER_TRY(text, read_text_file(path, kIndexLimit));
  VENEER_TRY(index, parse_shard_index(text, index_name));
  WeightStore all;
  for (const auto& [shard_name, promised] : index) {
    auto shard = open_file(path.parent_path() / shard_name, mode);
    if (!shard && shard.error().code == ErrorCode::kNotFound)
      return Error{ErrorCode::kNotFound,
                   concat(index_name, ": the shard ", printable(shard_name), " is missing; download it too"),
                   index_name};
    if (!shard) return std::move(shard).error();
    for (const std::string& tensor : promised)
      if (!shard->contains(tensor))
        return Error{ErrorCode::kBadFile,
                     concat(index_name, ": tensor ", printable(tensor), " is not in ", printable(shard_name),
                            ", where the index promises it; index and shards are of different models"),
                     index_name};
    VENEER_TRY_STATUS(add_shard(all, *shard, index_name, shard_name));
  }
  return all;
}

}  // namespace

Entry entry_of(std::string name, const EntryType& type, const Shape& shape, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner) {
  Entry entry;
  entry.type_name = type.name;
  entry.weight.name = std::move(name);
  entry.weight.codec = codec::find_codec(type.codec);
  entry.weight.shape = shape;
  entry.weight.bytes = bytes;
  entry.weight.owner = std::move(owner);
  return entry;
}

std::span<const Container* const> containers() { return kContainers; }

Result<WeightStore> open_weights(const std::filesystem::path& file, MappedFile::Mode mode) {
  return lower_ascii(file.extension().string()) == ".json" ? open_shards(file, mode) : open_file(file, mode);
}

}  // namespace veneer::io
