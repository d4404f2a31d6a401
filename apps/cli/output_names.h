// Names of the files that pictures are written to: patterns, numbers and extensions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/image.h"

namespace veneer::cli {

struct OutputFile {
  std::filesystem::path path;
  io::ImageFormat format;
};

// The names of a batch. "%d" and "%03d" become the index; "%%" is a percent sign. Without a pattern a single picture
// gets the name as given and several get name_0.png, name_1.png, ... The extension decides the format; where it names
// none, ".png" is appended.
class OutputNames {
 public:
  // Errors: usage (empty name, another "%" sequence, a folder in place of a file).
  static Result<OutputNames> parse(std::string_view name, int first_index, int count);
  // Of picture 0, 1, ... of the batch.
  OutputFile file(int picture) const;

 private:
  // A run of text or, where `digits` >= 0, an index with at least that many digits.
  struct Piece {
    std::string text;
    int digits = -1;
  };
  static Result<std::vector<Piece>> pieces_of(std::string_view name);

  std::vector<Piece> pieces_;
  int64_t first_index_ = 0;
  bool append_index_ = false;
};

// Whether a file of this path can be made, judged before the work and without making anything: the path is no folder,
// and the nearest folder above it that exists takes new entries. Errors: io.
Status check_writable(const std::filesystem::path& path);

}  // namespace veneer::cli
