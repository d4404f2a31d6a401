// Names of error codes, and the end of the line for broken invariants.
#include "core/result.h"

#include <cstdio>
#include <stdexcept>

namespace veneer {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage: return "usage";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kBadFile: return "bad_file";
    case ErrorCode::kMismatch: return "mismatch";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kNoMemory: return "no_memory";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kVerifyFailed: return "verify_failed";
    case ErrorCode::kBusy: return "busy";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kBug: return "bug";
  }
  return "bug";
}

// Thrown, not aborted: the C interface and the programs catch it at their border and report it as `bug`.
void check_failed(const char* file, int line, const char* condition) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": broken invariant: " + condition);
}

}  // namespace veneer
