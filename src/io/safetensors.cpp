// The safetensors container: a checked header made into a store whose weights point into the mapping.
#include "io/container.h"
#include "io/safetensors_header.h"

namespace veneer::io {
namespace {

// No header within the limit needs the three high bytes of its length; a longer one is known by the brace behind it.
bool sniff(std::span<const std::byte> file) {
  if (file.size() < 8) return false;
  const bool sane_length = file[5] == std::byte{0} && file[6] == std::byte{0} && file[7] == std::byte{0};
  return sane_length || (file.size() > 8 && file[8] == std::byte{'{'});
}

Result<WeightStore> open(std::shared_ptr<const MappedFile> file) {
  const std::string path = file->path().string();
  VENEER_TRY(header, parse_safetensors(file->bytes(), path));
  const auto data = file->bytes().subspan(static_cast<size_t>(header.data_begin));
  WeightStore::Entries entries;
  for (SafetensorsTensor& tensor : header.tensors) {
    const auto bytes = data.subspan(static_cast<size_t>(tensor.begin), static_cast<size_t>(tensor.end - tensor.begin));
    Entry entry = entry_of(tensor.name, {tensor.type->name, tensor.type->codec}, tensor.shape, bytes, file);
    entries.emplace(std::move(tensor.name), std::move(entry));
  }
  return WeightStore(std::move(entries), std::move(header.metadata), {std::move(file)});
}

}  // namespace

extern const Container kSafetensors{"safetensors", sniff, open};

}  // namespace veneer::io
