// Names of waiting outputs.
#include "pipeline/waiting_output.h"

#include <unistd.h>

#include "core/files.h"
#include "core/format.h"

namespace veneer::pipeline {

namespace fs = std::filesystem;

WaitingOutput::WaitingOutput(const fs::path& output)
    : output_(output.has_filename() ? output : output.parent_path()),
      path_(output_.parent_path() / concat("unfinished-", ::getpid(), "-", base_name(output_))) {}

WaitingOutput::~WaitingOutput() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Status WaitingOutput::put_in_place() const {
  std::error_code failed;
  fs::rename(path_, output_, failed);
  if (!failed) return {};
  return Error{ErrorCode::kIo, concat(output_.string(), ": renaming into place failed: ", failed.message()),
               output_.string()};
}

}  // namespace veneer::pipeline
