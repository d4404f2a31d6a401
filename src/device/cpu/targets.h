// Which instruction set our own vector code uses.
#pragma once

#include <string>

namespace veneer::device::cpu {

// As Highway names it: "AVX3" is AVX-512.
std::string vector_target();

// For tests of the code for older processors: no more than AVX2 in this process. Before the first device is opened.
void limit_vectors_to_avx2();

}  // namespace veneer::device::cpu
