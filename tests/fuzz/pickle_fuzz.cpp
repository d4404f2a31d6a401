// Any bytes as a PyTorch checkpoint, as a zip archive and as a row of pickles, and as the object inside an archive:
// the readers answer with tensors or an error, and every tensor lies inside the file.
#include "io/torch_checkpoint.h"

namespace {

using veneer::Result;
using veneer::io::TorchTensor;
using veneer::io::TorchTensors;

void check(const Result<TorchTensors>& found, std::span<const std::byte> file) {
  if (!found) {
    VENEER_CHECK(!found.error().message.empty());
    return;
  }
  for (const TorchTensor& tensor : found->tensors) {
    VENEER_CHECK(veneer::io::stored_bytes(*tensor.type, tensor.shape) == tensor.bytes.size());
    VENEER_CHECK(tensor.bytes.data() >= file.data());
    VENEER_CHECK(tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  check(veneer::io::parse_torch_zip(file, "fuzz.pt"), file);
  check(veneer::io::parse_torch_legacy(file, "fuzz.ckpt"), file);
  // Without the archive around it, so that changed bytes are the machine's.
  if (const auto pickle = veneer::io::run_pickle(file, "fuzz.pkl"))
    check(collect_torch_tensors(
              *pickle, [&](const auto&) -> Result<std::span<const std::byte>> { return file; }, "fuzz"),
          file);
  return 0;
}
