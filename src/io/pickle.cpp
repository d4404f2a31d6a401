// The two containers of PyTorch: checkpoints in a zip archive, and the older row of pickles.
#include "io/container.h"
#include "io/torch_checkpoint.h"
#include "io/zip.h"

namespace veneer::io {
namespace {

// The opcode PROTO with protocol 2 to 5. A header's length of these two low bytes has zeros where a pickle goes on.
bool is_pickle(std::span<const std::byte> file) {
  const auto at = [&](size_t i) { return std::to_integer<unsigned>(file[i]); };
  return file.size() >= 8 && at(0) == 0x80 && at(1) >= 2 && at(1) <= 5 && (at(5) | at(6) | at(7)) != 0;
}

template <Result<TorchTensors> (*parse)(std::span<const std::byte>, std::string_view)>
Result<WeightStore> open(std::shared_ptr<const MappedFile> file) {
  VENEER_TRY(found, parse(file->bytes(), file->path().string()));
  WeightStore::Entries entries;
  for (const TorchTensor& tensor : found.tensors) {
    entries.emplace(tensor.name,
                    entry_of(tensor.name, {tensor.type->name, tensor.type->codec}, tensor.shape, tensor.bytes, file));
  }
  return WeightStore(std::move(entries), std::move(found.metadata), {std::move(file)});
}

}  // namespace

extern const Container kTorchZip{"PyTorch zip", is_zip, open<parse_torch_zip>};
extern const Container kTorchLegacy{"PyTorch pickle", is_pickle, open<parse_torch_legacy>};

}  // namespace veneer::io
