// SDNQ weights: codes times scales (plus zero points) or a codebook, plus a low-rank part, then un-rotated; everything
// in float32 and in this order. The zero point is a number added after scaling. Where each thing lies is the layout's
// affair (sdnq_layout.h). Scales that are quantized themselves are SDNQ weights again.
#include <algorithm>

#include "codec/hadamard.h"
#include "codec/products.h"
#include "codec/sdnq_layout.h"
#include "codec/sdnq_runs.h"
#include "codec/side.h"

namespace veneer::codec {
namespace {

// Some rows of a weight, to be decoded.
struct Rows {
  const Weight& weight;
  const SdnqLayout& layout;
  int64_t first, count;
  int64_t values() const { return weight.row_values(); }
};

// Scales and zero points of these rows.
struct Scales {
  std::vector<float> scale, zero;  // zero is empty when there is none

  explicit Scales(const Rows& rows) {
    const Weight& stored = *rows.weight.side->find("scale");
    const bool shared = rows.layout.scale_row == 0;
    const int64_t begin = shared ? 0 : rows.first * rows.layout.scale_row;
    const int64_t size = shared ? stored.elements() : rows.count * rows.layout.scale_row;
    scale = side_numbers(stored, begin, size);
    const Weight* zero_point = rows.weight.side->find("zero_point");
    if (zero_point != nullptr && !rows.layout.is_codebook()) zero = side_numbers(*zero_point, begin, size);
  }
  float scale_at(int64_t i) const { return scale[static_cast<size_t>(i)]; }
  float zero_at(int64_t i) const { return zero.empty() ? 0.0f : zero[static_cast<size_t>(i)]; }
};

// `from` [rows, columns] as [columns, rows] with `stride` between its rows; in tiles, so that both sides stay in cache.
void transpose(const float* from, int64_t rows, int64_t columns, float* to, int64_t stride) {
  constexpr int64_t kTile = 16;
  for (int64_t r = 0; r < rows; r += kTile)
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t i = r; i < std::min(r + kTile, rows); ++i) to[c * stride + i] = from[i * columns + c];
}

// Codes stored [row values, rows] as numbers [count, row values], a few columns at a time.
void read_transposed(const Rows& rows, const SdnqCodes& codes, float* out) {
  constexpr int64_t kColumns = 16;
  std::vector<float> columns(static_cast<size_t>(kColumns * rows.count));
  for (int64_t begin = 0; begin < rows.values(); begin += kColumns) {
    const int64_t now = std::min(kColumns, rows.values() - begin);
    for (int64_t i = 0; i < now; ++i)
      sdnq_numbers(codes, (begin + i) * rows.weight.rows() + rows.first, rows.count, columns.data() + i * rows.count);
    transpose(columns.data(), now, rows.count, out + begin, rows.values());
  }
}

// One number for each value of a row, from numbers that stand for groups of inputs and kernel positions.
void spread(const SdnqLayout& layout, const float* numbers, std::vector<float>& line) {
  const auto run = static_cast<size_t>(layout.group * layout.positions);
  for (size_t begin = 0; begin < line.size(); begin += run, numbers += layout.scale_group) {
    float* const out = line.data() + begin;
    std::copy_n(numbers, layout.positions, out);
    for (auto done = static_cast<size_t>(layout.positions); done < run;) {  // twice as many each time
      const size_t more = std::min(done, run - done);
      std::copy_n(out, more, out + done);
      done += more;
    }
  }
}

// Turns the numbers of rows into values in place.
class RowScaler {
 public:
  explicit RowScaler(const Rows& rows) : layout_(rows.layout), scales_(rows), values_(rows.values()) {
    if (!spreads() || repeats()) return;
    scale_line_.resize(static_cast<size_t>(values_));
    zero_line_.resize(static_cast<size_t>(values_));
    if (layout_.scale_row == 0) spread_row(0);
  }

  // `row` counts from the first of the rows.
  void apply(int64_t row, float* values) {
    if (layout_.is_codebook()) return look_up(row, values);
    if (!spreads()) return scale_runs(row, values);
    if (repeats()) return scale_repeatedly(row, values);
    if (layout_.scale_row != 0) spread_row(row);
    scale_each(values, values_, scale_line_.data(), zero_line_.data());
  }

 private:
  // Neighbours in a row have scales of their own.
  bool spreads() const {
    return !layout_.is_codebook() && layout_.scale_position != 0 && (layout_.positions > 1 || layout_.group == 1);
  }

  // They come again for each input of a group.
  bool repeats() const { return layout_.group > 1 && layout_.positions <= kMostPeriod; }

  void scale_repeatedly(int64_t row, float* values) const {
    static constexpr float kNoZeros[kMostPeriod] = {};
    const int64_t run = layout_.group * layout_.positions;
    const float* scale = scales_.scale.data() + row * layout_.scale_row;
    const float* zero = scales_.zero.empty() ? kNoZeros : scales_.zero.data() + row * layout_.scale_row;
    for (int64_t i = 0; i < values_; i += run, scale += layout_.scale_group) {
      scale_repeating(values + i, run, scale, zero, layout_.positions);
      if (!scales_.zero.empty()) zero += layout_.scale_group;
    }
  }

  void spread_row(int64_t row) {
    spread(layout_, scales_.scale.data() + row * layout_.scale_row, scale_line_);
    if (!scales_.zero.empty()) spread(layout_, scales_.zero.data() + row * layout_.scale_row, zero_line_);
  }

  void scale_runs(int64_t row, float* values) const {
    const int64_t run = layout_.group * layout_.positions;
    int64_t at = row * layout_.scale_row;
    for (int64_t i = 0; i < values_; i += run, at += layout_.scale_group)
      scale_run(values + i, run, scales_.scale_at(at), scales_.zero_at(at));
  }

  void look_up(int64_t row, float* values) const {
    const int64_t run = layout_.group * layout_.positions;
    const float* table = scales_.scale.data() + row * layout_.scale_row;
    for (int64_t begin = 0; begin < values_; begin += run, table += layout_.scale_group)
      for (int64_t i = begin; i < begin + run; i += layout_.positions)
        for (int64_t p = 0; p < layout_.positions; ++p) {
          const auto code = static_cast<int64_t>(values[i + p]);
          values[i + p] = table[p * layout_.scale_position + code * layout_.table_step];
        }
  }

  const SdnqLayout& layout_;
  Scales scales_;
  int64_t values_;  // of a row
  std::vector<float> scale_line_, zero_line_;
};

// These rows of the left low-rank factor, [count, rank], from either storage.
std::vector<float> left_factor(const Rows& rows) {
  const Weight& up = *rows.weight.side->find("svd_up");
  const int64_t rank = rows.layout.rank;
  if (!rows.layout.factors_transposed) return side_numbers(up, rows.first * rank, rows.count * rank);
  std::vector<float> left(static_cast<size_t>(rows.count * rank));
  for (int64_t k = 0; k < rank; ++k)
    transpose(side_numbers(up, k * rows.weight.rows() + rows.first, rows.count).data(), 1, rows.count, left.data() + k,
              rank);
  return left;
}

// Columns of the right low-rank factor from either storage, a strip at a time.
class RightFactor {
 public:
  explicit RightFactor(const Rows& rows) : layout_(rows.layout), values_(rows.values()) {
    stored_ = *rows.weight.side->find("svd_down");
    stored_.shape = {stored_.elements()};
  }

  // Columns [begin, begin + count), [rank, count].
  const float* strip(int64_t begin, int64_t count) {
    const int64_t rank = layout_.rank;
    strip_.resize(static_cast<size_t>(rank * count));
    if (layout_.factors_transposed) {
      turned_.resize(strip_.size());
      stored_.decode_rows(begin * rank, count * rank, turned_.data());
      transpose(turned_.data(), count, rank, strip_.data(), count);
    } else {
      for (int64_t k = 0; k < rank; ++k) stored_.decode_rows(k * values_ + begin, count, strip_.data() + k * count);
    }
    return strip_.data();
  }

 private:
  const SdnqLayout& layout_;
  int64_t values_;
  Weight stored_;  // as one long vector
  std::vector<float> strip_, turned_;
};

// In strips of columns of which the right factor has so few that they stay in the nearest cache for all rows.
void add_factors(const Rows& rows, float* out) {
  constexpr int64_t kStrip = 128;
  const std::vector<float> left = left_factor(rows);
  const int64_t rank = rows.layout.rank;
  RightFactor right(rows);
  for (int64_t begin = 0; begin < rows.values(); begin += kStrip) {
    const int64_t count = std::min(kStrip, rows.values() - begin);
    add_product(Product<float>{left.data(), rank, right.strip(begin, count), count, rank, count, rows.values()},
                rows.count, out + begin);
  }
}

Status check_sdnq(const Weight& weight) {
  const auto layout = sdnq_layout(weight);
  return layout ? Status() : Status(layout.error());
}

void decode_sdnq(const Weight& weight, int64_t first, int64_t count, float* out) {
  const auto layout = sdnq_layout(weight);
  VENEER_CHECK(layout.has_value());
  const Rows rows{weight, *layout, first, count};
  const SdnqCodes codes{layout->type, weight.bytes.data(), layout->word_bytes};
  RowScaler scaler(rows);
  if (layout->transposed) read_transposed(rows, codes, out);
  for (int64_t row = 0; row < count; ++row) {
    float* values = out + row * rows.values();
    if (!layout->transposed) sdnq_numbers(codes, (first + row) * rows.values(), rows.values(), values);
    scaler.apply(row, values);
  }
  if (layout->rank > 0) add_factors(rows, out);
  if (layout->rotation > 1) hadamard_rotate(out, count * rows.values(), layout->rotation);
}

}  // namespace

// Blocks differ from type to type; one code a byte stands for all of them where a block is asked for.
extern const Codec kSdnq{"sdnq", 1, 1, check_sdnq, decode_sdnq, nullptr};

}  // namespace veneer::codec
