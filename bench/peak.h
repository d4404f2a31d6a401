// What the machine can do at best: the yardstick of the micro benchmarks.
#pragma once

namespace veneer::bench {

// Float32 multiply-adds on all threads of the calling thread's OpenMP pool, in units of 1e9 operations a second (a
// multiply-add counts as two), the best of several short runs.
double peak_gflops();

}  // namespace veneer::bench
