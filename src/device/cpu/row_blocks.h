// Rows of weights where a kernel wants them: there already, or made into memory of the thread that takes them.
#pragma once

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"

namespace veneer::device::cpu {

// Rows enough that what making them prepares for all (a low-rank factor) weighs little.
inline int64_t rows_together(int64_t width) {
  constexpr int64_t kValues = int64_t{1} << 16, kFewest = 48;
  return std::max(kFewest, kValues / std::max<int64_t>(1, width));
}

// Calls work(begin, end, rows [begin, end)) on the pool, for `together` rows at a time.
template <typename Work>
void for_row_blocks(CpuDevice& device, const RowSource& source, int64_t rows, int64_t width, int64_t together,
                    const Work& work) {
  const int64_t most = std::min(together, rows);
  float* const memory = source.values() ? nullptr : device.made_rows.floats(pool_size() * most * width);
  parallel_ranges(rows, together, [&](int64_t begin, int64_t end) {
    if (source.values()) return work(begin, end, source.values() + begin * width);
    float* const own = memory + thread_index() * most * width;
    source.make(begin, end - begin, own);
    work(begin, end, static_cast<const float*>(own));
  });
}

// All of them to `out`, [rows, width].
inline void put_rows(const RowSource& source, int64_t rows, int64_t width, float* out) {
  parallel_ranges(rows, rows_together(width), [&](int64_t begin, int64_t end) {
    float* const to = out + begin * width;
    if (source.values())
      std::copy_n(source.values() + begin * width, (end - begin) * width, to);
    else
      source.make(begin, end - begin, to);
  });
}

// All of them, [rows, width].
inline const float* all_rows(CpuDevice& device, const RowSource& source, int64_t rows, int64_t width) {
  if (source.values()) return source.values();
  float* const made = device.made_rows.floats(rows * width);
  put_rows(source, rows, width, made);
  return made;
}

}  // namespace veneer::device::cpu
