// Rows of rotated weights. Differences are formed in the factors (R - I), not between large sums.
#include "nn/rotated_rows.h"

#include <algorithm>

#include "codec/row_sums.h"

namespace veneer::nn {
namespace {

// R - I by rows, and where its channels are.
class Change {
 public:
  explicit Change(const Rotate& rotate) : blocks_(rotate.blocks), n_(rotate.blocks.shape[1]), order_(rotate.order) {
    if (order_.empty())
      for (int64_t at = 0; at < channels(); ++at) order_.push_back(static_cast<int32_t>(at));
    positions_.resize(order_.size());
    for (size_t at = 0; at < order_.size(); ++at)
      positions_[static_cast<size_t>(order_[at])] = static_cast<int32_t>(at);
  }
  int64_t n() const { return n_; }
  int64_t channels() const { return blocks_.shape[0] * n_; }
  const int32_t* channels_of(int64_t block) const { return order_.data() + block * n_; }
  int64_t position_of(int64_t channel) const { return positions_[static_cast<size_t>(channel)]; }

  // The n factors for position `at`.
  void row(int64_t at, float* factors) const {
    std::copy_n(blocks_.f32() + at * n_, n_, factors);
    factors[at % n_] -= 1;
  }

 private:
  Tensor blocks_;  // of R; shared with the term
  int64_t n_;
  std::vector<int32_t> order_;      // position -> channel
  std::vector<int32_t> positions_;  // channel -> position
};

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
      : change_(change), base_(base), width_(row_values), rows_(static_cast<size_t>(change.n() * row_values)) {}

  const float* of(int64_t block) {
    if (block == block_) return rows_.data();
    block_ = block;
    const int32_t* channels = change_.channels_of(block);
    // Runs of neighbours are decoded together: all of them where there is no order.
    for (int64_t at = 0, run = 0; at < change_.n(); at += run) {
      for (run = 1; at + run < change_.n() && channels[at + run] == channels[at] + run;) ++run;
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
  dense.rows = [change = Change(rotate), base = std::move(base), row_values](int64_t first, int64_t count,
                                                                             float* rows) {
    BlockRows block_rows(change, base, row_values);
    std::vector<float> factors(static_cast<size_t>(change.n()));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = change.position_of(first + i);
      const float* from = block_rows.of(at / change.n());
      change.row(at, factors.data());
      float* to = rows + i * row_values;
      std::fill_n(to, row_values, 0.0f);
      codec::add_scaled_rows(from, row_values, factors.data(), change.n(), row_values, to);
    }
  };
  return dense;
}

Dense rotated_inputs(const Rotate& rotate, int64_t kernel_size) {
  Dense dense = described(rotate);
  dense.needs_base = true;
  dense.rows = [change = Change(rotate), kernel_size](int64_t, int64_t count, float* rows) {
    const int64_t width = change.channels() * kernel_size, n = change.n();
    std::vector<float> old(static_cast<size_t>(width)), factors(static_cast<size_t>(n));
    for (int64_t row = 0; row < count; ++row) {
      float* to = rows + row * width;
      std::copy_n(to, width, old.begin());
      std::fill_n(to, width, 0.0f);
      for (int64_t i = 0; i < change.channels(); ++i) {
        const int32_t* channels = change.channels_of(i / n);
        change.row(i, factors.data());
        for (int64_t j = 0; j < n; ++j)
          add_scaled(old.data() + channels[i % n] * kernel_size, kernel_size, factors[static_cast<size_t>(j)],
                     to + channels[j] * kernel_size);
      }
    }
  };
  return dense;
}

}  // namespace veneer::nn
