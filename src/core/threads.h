// The one thread that does a runtime's arithmetic. OpenMP keeps a pool per calling thread, so all products are handed
// to this thread and share one pool (spec: engine, section 8). Any thread may call run(); tasks are carried out in
// order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace veneer {

int physical_cores();

class EngineThread {
 public:
  explicit EngineThread(int threads);  // size of the OpenMP pool; <= 0 means the number of physical cores
  ~EngineThread();                     // finishes what was handed over
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  int threads() const { return threads_; }
  // Runs `task` on the engine thread and waits for it; what it throws is thrown here. Called from the engine thread
  // itself it runs at once.
  void run(const std::function<void()>& task);

 private:
  void loop();
  int threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when all else exists
};

}  // namespace veneer
