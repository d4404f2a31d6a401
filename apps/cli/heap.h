// What becomes of large blocks of memory that are freed.
#pragma once

namespace veneer::cli {

// They go back to the system at once. glibc raises the size from which that is so with every block that it frees, up to
// 32 MB, and keeps smaller ones; for panels of up to 16 MB that are made anew for every layer, it kept 230 MB of gaps.
void return_large_blocks();

}  // namespace veneer::cli
