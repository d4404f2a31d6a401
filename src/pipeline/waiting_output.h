// An output that waits for approval: written beside its place under a name of the same kind, then renamed.
#pragma once

#include <filesystem>

#include "core/result.h"

namespace veneer::pipeline {

class WaitingOutput {
 public:
  explicit WaitingOutput(const std::filesystem::path& output);
  ~WaitingOutput();  // removes what was not put in place
  WaitingOutput(const WaitingOutput&) = delete;
  WaitingOutput& operator=(const WaitingOutput&) = delete;

  const std::filesystem::path& path() const { return path_; }  // a file or folder may be made here
  // Errors: io.
  Status put_in_place() const;

 private:
  std::filesystem::path output_, path_;
};

}  // namespace veneer::pipeline
