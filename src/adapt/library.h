// The adapter directory: finding the file that a name in a prompt or request means. Looks at the disk on every call, so
// that a file put there is found at once; reads metadata and hashes only when nothing nearer has the name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::adapt {

// A regular file with an extension that adapters and embeddings have: .gguf, .safetensors, .pt, .ckpt.
bool is_weight_file(const std::filesystem::path& path);

class Library {
 public:
  enum class Reach {
    kAnywhere,         // a path may lead anywhere: for users of the command line
    kInsideDirectory,  // names that lead out of the directory are refused: for requests from a network
  };

  // The directory need not exist; an empty path stands for none.
  Library(std::filesystem::path directory, Reach reach) : directory_(std::move(directory)), reach_(reach) {}

  // In this order: the path itself, in the directory and then (kAnywhere) from where the program runs; the path with
  // .gguf, .safetensors, .pt, .ckpt; the only file with this name, without extension, anywhere below the directory; the
  // only one that its trainer saved under this name; all of these again with upper and lower case taken as one; the
  // file whose SHA-256, or AutoV3 hash, begins with these eight or more hexadecimal digits.
  // Errors: not_found with the nearest names; usage for an empty name, a name that leads out of the directory where it
  // must not, and one that several files have (all are named).
  Result<std::filesystem::path> find(std::string_view name) const;

  // All adapter files below the directory, sorted. Links to directories are not followed, links to files are.
  std::vector<std::filesystem::path> files() const;

 private:
  using Paths = std::vector<std::filesystem::path>;
  std::filesystem::path inner_path(const std::filesystem::path& file) const {
    return file.lexically_relative(directory_);
  }
  Paths places_of(std::string_view name) const;
  Result<std::filesystem::path> find_by_name(std::string_view name, const Paths& all) const;
  Error not_found(std::string_view name, const Paths& all) const;

  std::filesystem::path directory_;
  Reach reach_;
};

}  // namespace veneer::adapt
