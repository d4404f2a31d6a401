// How fast the stored forms of weights become numbers: one benchmark for each form and each size of layer.
#pragma once

#include <benchmark/benchmark.h>

namespace veneer::bench {

// Registers them as "decode/FORM/SHAPE", on `threads` threads of the calling thread's OpenMP pool.
void add_decoders(int threads);

}  // namespace veneer::bench
