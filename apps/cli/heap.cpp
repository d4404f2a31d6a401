// The threshold of glibc's heap; other C libraries have their own ways.
#include "heap.h"

#include <cstdlib>  // tells which C library this is

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace veneer::cli {

void return_large_blocks() {
#if defined(__GLIBC__)
  constexpr int kLarge = 2 << 20;  // bytes; a fixed value is no longer raised
  mallopt(M_MMAP_THRESHOLD, kLarge);
#endif
}

}  // namespace veneer::cli
