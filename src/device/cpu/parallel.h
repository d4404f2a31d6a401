// Loops over independent pieces of work, spread over the OpenMP pool. How a sum is cut must not depend on the number of
// threads: a piece computes its results alone, so the same inputs give the same bytes on any number of them.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace veneer::device::cpu {

#ifdef _OPENMP
inline int pool_size() { return omp_get_max_threads(); }
inline int thread_index() { return omp_get_thread_num(); }
#else
inline int pool_size() { return 1; }
inline int thread_index() { return 0; }
#endif

// Calls body(i) for i in [0, count). The body must not throw.
template <typename Body>
void parallel_for(int64_t count, const Body& body) {
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (int64_t i = 0; i < count; ++i) body(i);
}

// Calls body(begin, end) for consecutive ranges of [0, count), each `grain` long or, at the end, shorter.
template <typename Body>
void parallel_ranges(int64_t count, int64_t grain, const Body& body) {
  parallel_for((count + grain - 1) / grain, [&](int64_t i) { body(i * grain, std::min(count, (i + 1) * grain)); });
}

// Values to a piece of work that does little with each: some ten microseconds.
constexpr int64_t kGrain = int64_t{1} << 14;
inline int64_t rows_per_piece(int64_t columns) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, columns)); }

}  // namespace veneer::device::cpu
