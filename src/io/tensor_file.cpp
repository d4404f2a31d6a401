// Bytes of tensors into their places.
#include "io/tensor_file.h"

namespace veneer::io {

Result<std::unique_ptr<TensorFileWriter>> TensorFileWriter::create(const std::filesystem::path& path,
                                                                   FileLayout layout) {
  VENEER_TRY(file, AtomicFile::create(path));
  VENEER_TRY_STATUS(file.resize(layout.file_bytes));
  VENEER_TRY_STATUS(file.write(0, std::as_bytes(std::span(layout.head))));
  return std::unique_ptr<TensorFileWriter>(new TensorFileWriter(std::move(file), std::move(layout)));
}

Status TensorFileWriter::write(size_t index, uint64_t at, std::span<const std::byte> bytes) {
  VENEER_CHECK(index < layout_.places.size());
  const FileLayout::Place& place = layout_.places[index];
  VENEER_CHECK(at <= place.bytes && bytes.size() <= place.bytes - at);
  VENEER_TRY_STATUS(file_.write(place.begin + at, bytes));
  written_ += bytes.size();
  return {};
}

Status TensorFileWriter::commit() {
  uint64_t expected = 0;
  for (const FileLayout::Place& place : layout_.places) expected += place.bytes;
  VENEER_CHECK(written_ == expected);
  return file_.commit();
}

}  // namespace veneer::io
