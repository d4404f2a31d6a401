// The GGUF container: a checked header made into a store whose weights point into the mapping.
#include "core/format.h"
#include "io/container.h"
#include "io/gguf_header.h"
#include "io/printable.h"

namespace veneer::io {
namespace {

constexpr std::string_view kMagic = "GGUF";

bool sniff(std::span<const std::byte> file) {
  return file.size() >= kMagic.size() &&
         std::string_view(reinterpret_cast<const char*>(file.data()), kMagic.size()) == kMagic;
}

// Files of a language model's vocabulary alone exist; they hold metadata and no tensor.
Error no_model(const std::string& path, const GgufHeader& header) {
  const auto architecture = header.metadata.find("general.architecture");
  return {
      ErrorCode::kMismatch,
      concat(
          path, ": a file with no tensors is not an image model",
          architecture == header.metadata.end() ? "" : concat(" (architecture ", printable(architecture->second), ")"),
          "; name a file that holds weights"),
      path};
}

Result<WeightStore> open(std::shared_ptr<const MappedFile> file) {
  const std::string path = file->path().string();
  VENEER_TRY(header, parse_gguf(file->bytes(), path));
  if (header.tensors.empty()) return no_model(path, header);
  const auto data = file->bytes().subspan(static_cast<size_t>(header.data_begin));
  WeightStore::Entries entries;
  for (const GgufTensor& tensor : header.tensors) {
    const auto bytes = data.subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.bytes));
    entries.emplace(tensor.name,
                    entry_of(tensor.name, {tensor.type->name, tensor.type->codec}, tensor.shape, bytes, file));
  }
  return WeightStore(std::move(entries), std::move(header.metadata), {std::move(file)});
}

}  // namespace

extern const Container kGguf{"GGUF", sniff, open};

}  // namespace veneer::io
