// What the driver of the attention kernel and its vector code share: sizes of blocks and how memory is cut up.
#pragma once

#include <cstdint>

namespace veneer::device::cpu {

constexpr int64_t kUnit = 16;           // floats; panels are whole units wide, whatever the vectors of the processor
constexpr int64_t kQueryBlock = 48;     // queries that one piece of work takes through all keys
constexpr int64_t kKeyBlock = 256;      // keys whose scores are held at once
constexpr float kLowestScore = -1e30f;  // where the running maximum starts: finite, so that differences are numbers

inline int64_t units_of(int64_t count) { return (count + kUnit - 1) / kUnit; }

// Keys and values of one head, arranged for the products.
struct PackedHead {
  int64_t keys, width;
  float* packed_keys;    // units_of(keys) * kUnit * width
  float* packed_values;  // keys * units_of(width) * kUnit
  const float* mask;     // [units_of(keys) * kUnit] in units of powers of two, or null
};

struct QueryBlock {
  PackedHead head;
  const float* q;
  int64_t q_stride, rows;
  float scale;  // of the scores, times log2(e)
  bool causal;
  int64_t first_query;  // index of the first row
  const float* bias;    // [rows, keys] added to the scores, or null
  float* y;
  int64_t y_stride;
};

// Rows of a times a packed panel of b: y[r, :] = y[r, :] * keep[r] + a[r, :] . b, or without the first part when keep
// is null. Rows are a whole number of tiles.
struct PanelProduct {
  const float* a;  // [rows, depth]
  int64_t a_stride, rows, depth;
  const float* b;     // [depth, width of the panel]
  const float* keep;  // [rows] or null
  float* y;           // [rows, width of the panel]
  int64_t y_stride;
};

// Working memory of one block; every row is aligned to a cache line.
struct BlockMemory {
  float* q;                         // [kQueryBlock, width]
  float* scores;                    // [kQueryBlock, kKeyBlock]
  float* y;                         // [kQueryBlock, units_of(width) * kUnit]
  float *highest, *total, *shrink;  // [kQueryBlock] each
  static int64_t floats(int64_t width) { return kQueryBlock * (2 * units_of(width) * kUnit + kKeyBlock + 3); }
  BlockMemory(float* memory, int64_t width)
      : q(memory),
        scores(q + kQueryBlock * units_of(width) * kUnit),
        y(scores + kQueryBlock * kKeyBlock),
        highest(y + kQueryBlock * units_of(width) * kUnit),
        total(highest + kQueryBlock),
        shrink(total + kQueryBlock) {}
};

}  // namespace veneer::device::cpu
