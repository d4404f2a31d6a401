// The engine thread: order, results, exceptions, and calls from itself.
#include "core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace veneer {
namespace {

TEST(EngineThread, RunsTasksOfManyThreadsOneAtATime) {
  EngineThread engine(2);
  int running = 0, most = 0, done = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < 50; ++j)
        engine.run([&] {
          most = std::max(most, ++running);
          ++done;
          --running;
        });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 400);
  EXPECT_EQ(most, 1);
}

TEST(EngineThread, HandsExceptionsBackAndGoesOn) {
  EngineThread engine(1);
  EXPECT_THROW(engine.run([] { throw std::runtime_error("x"); }), std::runtime_error);
  bool ran = false;
  engine.run([&] { engine.run([&] { ran = true; }); });
  EXPECT_TRUE(ran);
  EXPECT_EQ(engine.threads(), 1);
  EXPECT_GE(physical_cores(), 1);
}

}  // namespace
}  // namespace veneer
