// A counter that threads take numbers from.
#include "pipeline/workers.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "core/threads.h"

namespace veneer::pipeline {

Status on_threads(int threads, size_t count, const std::function<Status(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto take = [&] {
    for (size_t i = next++; i < count; i = next++) {
      Status status;
      try {
        status = work(i);
      } catch (const std::bad_alloc&) {
        status =
            Error{ErrorCode::kNoMemory, "memory ran out while weights were encoded; use fewer --threads", "memory"};
      }
      if (status) continue;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::move(status).error();
      next = count;
    }
  };
  const auto wanted = static_cast<size_t>(threads > 0 ? threads : physical_cores());
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(wanted, count); ++i) others.emplace_back(take);
  take();
  for (std::thread& thread : others) thread.join();
  if (failure) return *std::move(failure);
  return {};
}

}  // namespace veneer::pipeline
