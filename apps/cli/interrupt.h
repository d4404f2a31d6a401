// Ctrl-C: the first one asks the run to stop within one step, the second one ends the program at once.
#pragma once

#include "pipeline/session.h"

namespace veneer::cli {

constexpr int kExitCancelled = 130;  // 128 + SIGINT, as shells report it

// While it lives, SIGINT and SIGTERM set `flag` to kAll. At most one lives at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(pipeline::CancelFlag& flag);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

}  // namespace veneer::cli
