// Rows of rotated weights. Differences are formed in the factors (R - I), not between large sums.
#include "nn/rotated_rows.h"

#include <algorithm>

#include "codec/row_sums.h"

namespace veneer::nn {
namespace {

// Blocks of R - I, and where their channels are.
struct Change {
  int64_t n = 0, channels = 0;
  std::vector<float> blocks;                                             // [channels / n, n, n]
  std::vector<int32_t> order;                                            // position -> channel
  std::vector<int32_t> position;                                         // channel -> position
  const float* row(int64_t at) const { return blocks.data() + at * n; }  // of the position `at`
};

Change change_of(const Rotate& rotate) {
  Change change;
  change.n = rotate.blocks.shape[1];
  change.channels = rotate.blocks.shape[0] * change.n;
  change.blocks.assign(rotate.blocks.values().begin(), rotate.blocks.values().end());
  for (int64_t at = 0; at < change.channels; ++at)
    change.blocks[static_cast<size_t>(at * change.n + at % change.n)] -= 1;
  change.order = rotate.order;
  change.position.resize(static_cast<size_t>(change.channels));
  if (change.order.empty())
    for (int64_t at = 0; at < change.channels; ++at) change.order.push_back(static_cast<int32_t>(at));
  for (size_t at = 0; at < change.order.size(); ++at)
    change.position[static_cast<size_t>(change.order[at])] = static_cast<int32_t>(at);
  return change;
}

void add_scaled(const float* from, int64_t count, float factor, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

Dense described(const Rotate& rotate) {
  Dense dense;
  dense.what = describe(rotate);
  dense.held_bytes = held_bytes(rotate);
  return dense;
}

// The rows of W that one block takes, decoded when the block is another than before.
class BlockRows {
 public:
  BlockRows(const Change& change, const BaseRows& base, int64_t row_values)
      : change_(change), base_(base), width_(row_values), rows_(static_cast<size_t>(change.n * row_values)) {}

  const float* of(int64_t block) {
    if (block == block_) return rows_.data();
    block_ = block;
    const int32_t* channels = change_.order.data() + block * change_.n;
    // Runs of neighbours are decoded together: all of them where there is no order.
    for (int64_t at = 0, run = 0; at < change_.n; at += run) {
      for (run = 1; at + run < change_.n && channels[at + run] == channels[at] + run;) ++run;
      base_(channels[at], run, rows_.data() + at * width_);
    }
    return rows_.data();
  }

 private:
  const Change& change_;
  const BaseRows& base_;
  int64_t width_, block_ = -1;
  std::vector<float> rows_;
};

}  // namespace

Dense rotated_outputs(const Rotate& rotate, BaseRows base, int64_t row_values) {
  Dense dense = described(rotate);
  dense.rows = [change = change_of(rotate), base = std::move(base), row_values](int64_t first, int64_t count,
                                                                                float* rows) {
    BlockRows block_rows(change, base, row_values);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = change.position[static_cast<size_t>(first + i)];
      const float* from = block_rows.of(at / change.n);
      float* to = rows + i * row_values;
      std::fill_n(to, row_values, 0.0f);
      codec::add_scaled_rows(from, row_values, change.row(at), change.n, row_values, to);
    }
  };
  return dense;
}

Dense rotated_inputs(const Rotate& rotate, int64_t kernel_size) {
  Dense dense = described(rotate);
  dense.needs_base = true;
  dense.rows = [change = change_of(rotate), kernel_size](int64_t, int64_t count, float* rows) {
    const int64_t width = change.channels * kernel_size;
    std::vector<float> old(static_cast<size_t>(width));
    for (int64_t row = 0; row < count; ++row) {
      float* to = rows + row * width;
      std::copy_n(to, width, old.begin());
      std::fill_n(to, width, 0.0f);
      for (int64_t i = 0; i < change.channels; ++i) {
        const float* from = old.data() + change.order[static_cast<size_t>(i)] * kernel_size;
        for (int64_t j = 0; j < change.n; ++j) {
          const int64_t channel = change.order[static_cast<size_t>(i / change.n * change.n + j)];
          add_scaled(from, kernel_size, change.row(i)[j], to + channel * kernel_size);
        }
      }
    }
  };
  return dense;
}

}  // namespace veneer::nn
