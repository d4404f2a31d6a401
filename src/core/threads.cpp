// The engine thread and the size of its pool.
#include "core/threads.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <fstream>
#include <future>
#include <set>
#include <string>
#include <utility>

namespace veneer {

int physical_cores() {
  // Pairs (package, core) of /proc/cpuinfo; hyper-threads share one pair.
  std::ifstream info("/proc/cpuinfo");
  std::set<std::pair<int, int>> cores;
  int package = 0;
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon + 1 >= line.size()) continue;
    if (line.starts_with("physical id")) package = std::stoi(line.substr(colon + 1));
    if (line.starts_with("core id")) cores.emplace(package, std::stoi(line.substr(colon + 1)));
  }
  const int logical = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores.empty() ? logical : std::min(static_cast<int>(cores.size()), logical);
}

EngineThread::EngineThread(int threads)
    : threads_(threads > 0 ? threads : physical_cores()), thread_([this] { loop(); }) {}

EngineThread::~EngineThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void EngineThread::run(const std::function<void()>& task) {
  if (std::this_thread::get_id() == thread_.get_id()) return task();
  std::packaged_task<void()> packaged(task);
  std::future<void> done = packaged.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.emplace_back([&packaged] { packaged(); });
  }
  wake_.notify_one();
  done.get();
}

void EngineThread::loop() {
#ifdef _OPENMP
  omp_set_num_threads(threads_);
#endif
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace veneer
