// Signal handling for one run. A handler can reach nothing but statics: this is the program's only one that changes.
#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace veneer::cli {
namespace {

std::atomic<pipeline::CancelFlag*> flag_of_the_run = nullptr;
static_assert(std::atomic<pipeline::CancelMode>::is_always_lock_free, "the handler below must not block");
static_assert(std::atomic<pipeline::CancelFlag*>::is_always_lock_free, "the handler below must not block");

void on_signal(int) {
  pipeline::CancelFlag* const flag = flag_of_the_run.load();
  if (flag == nullptr || flag->get() == pipeline::CancelMode::kAll) ::_exit(kExitCancelled);
  flag->set(pipeline::CancelMode::kAll);
}

}  // namespace

InterruptGuard::InterruptGuard(pipeline::CancelFlag& flag) {
  flag_of_the_run.store(&flag);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  flag_of_the_run.store(nullptr);
}

}  // namespace veneer::cli
