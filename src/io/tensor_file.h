// Writing a file of tensors piece by piece: a format lays the file out (safetensors_write.h, gguf_write.h), a writer
// puts the bytes in their places in any order and from any thread. Knows no format.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/atomic_file.h"
#include "core/tensor.h"

namespace veneer::io {

// A tensor that is going to be written.
struct TensorPlan {
  std::string name;
  std::string type;  // as the format spells it: "F32", "F8_E4M3", "Q4_K"
  Shape shape;       // slowest first
};

// Where everything lies in a file whose tensors are known by type and shape.
struct FileLayout {
  struct Place {
    uint64_t begin = 0;  // from the start of the file
    uint64_t bytes = 0;
  };
  std::string head;           // the file up to the first tensor
  std::vector<Place> places;  // of the tensors, in the order of the plan
  uint64_t file_bytes = 0;    // bytes between tensors and behind the last are zeros
};

class TensorFileWriter {
 public:
  // Writes the head to a temporary file beside `path`; a reader sees nothing, or the old file, until commit().
  // Parent folders are created. Errors: io.
  static Result<std::unique_ptr<TensorFileWriter>> create(const std::filesystem::path& path, FileLayout layout);

  const FileLayout& layout() const { return layout_; }
  // Writes bytes of tensor `index` from byte `at` of it on; inside the tensor (checked). Different threads may write
  // different bytes at the same time. Errors: io.
  Status write(size_t index, uint64_t at, std::span<const std::byte> bytes);
  // Gives the file its name; every byte of every tensor has been written (checked by their count). Without a commit the
  // temporary file goes when the writer goes. Errors: io.
  Status commit();

 private:
  TensorFileWriter(AtomicFile file, FileLayout layout) : file_(std::move(file)), layout_(std::move(layout)) {}
  AtomicFile file_;
  FileLayout layout_;
  std::atomic<uint64_t> written_{0};  // bytes of tensors
};

}  // namespace veneer::io
