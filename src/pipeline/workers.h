// Threads for work on weights that lies outside of pictures: converting files, and holding weights in other formats.
// The arithmetic of pictures has a thread and a pool of its own (core/threads.h).
#pragma once

#include <functional>

#include "core/result.h"

namespace veneer::pipeline {

// Calls `work(i)` for each i in [0, count), several at a time, and waits for all. After an error, and after running out
// of memory (no_memory), no further ones are begun. `threads` <= 0: the number of physical cores. The error is one of
// those that came.
Status on_threads(int threads, size_t count, const std::function<Status(size_t)>& work);

}  // namespace veneer::pipeline
