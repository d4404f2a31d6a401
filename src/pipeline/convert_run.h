// Carrying out a planned conversion: threads take weights one by one, decode them, encode them and write the result in
// its place. Measures what encoding changes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline/convert_plan.h"

namespace veneer::pipeline {

// What encoding into one type has cost.
struct EncodedCount {
  int64_t tensors = 0;
  uint64_t bytes_before = 0, bytes_after = 0;
  double value_squares = 0, error_squares = 0;  // over all finite values

  void add(const EncodedCount& other);
  double relative_error() const;  // root mean square of the errors over that of the values
};

struct CopiedCount {
  int64_t tensors = 0;
  uint64_t bytes = 0;
};

struct NonFinite {
  std::string tensor;
  int64_t values = 0;
};

struct ConvertCounts {
  std::map<std::string, EncodedCount> encoded;  // by target type
  std::map<std::string, CopiedCount> copied;    // by the type's name in the file
  std::vector<NonFinite> non_finite;            // weights with values that are not finite, by name
};

// How a conversion is carried out, and how far it is.
struct ConvertWork {
  int threads;  // <= 0: physical cores
  const ConvertProgress& progress;
  const CancelFlag& cancel;
  uint64_t done = 0, total = 0;  // bytes of the source
};

uint64_t source_bytes(const ConvertFile& file);

// Writes the file to `path`, a reader sees it whole or not at all. Adds to `counts`.
// Errors: bad_file (values that the type cannot hold), io, cancelled, no_memory.
Status write_converted(const ConvertFile& file, const std::filesystem::path& path, ConvertWork& work,
                       ConvertCounts& counts);

}  // namespace veneer::pipeline
