// SDNQ weights: codes times scales (plus zero points) or a codebook, plus a low-rank part, then un-rotated; everything
// in float32 and in this order. The zero point is a number added after scaling. Where each thing lies is the layout's
// affair (sdnq_layout.h). Scales that are quantized themselves are SDNQ weights again.
#include <algorithm>

#include "codec/hadamard.h"
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

// Types with a vector loop, when the codes of a group lie in one run of whole bytes.
bool has_vector_loop(const Rows& rows) {
  const SdnqLayout& layout = rows.layout;
  const bool runs = !layout.transposed && !layout.is_codebook() && layout.positions == 1 && layout.type.is_integer();
  const bool whole_bytes = layout.group % 2 == 0 && rows.values() % 2 == 0;
  const bool nibbles = layout.type.bits == 4 && whole_bytes;
  const bool bytes = layout.type.bits == 8 && !layout.type.is_unsigned;
  return runs && (nibbles || bytes);
}

void decode_by_runs(const Rows& rows, const Scales& scales, float* out) {
  const SdnqLayout& layout = rows.layout;
  const bool nibbles = layout.type.bits == 4;
  const float offset = nibbles && !layout.type.is_unsigned ? 8.0f : 0.0f;
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t i = 0; i < rows.values(); i += layout.group) {
      const int64_t at = row * layout.scale_row + i / layout.group * layout.scale_group;
      const CodeScale scale{offset, scales.scale_at(at), scales.zero_at(at)};
      const int64_t begin = (rows.first + row) * rows.values() + i;
      const std::byte* codes = rows.weight.bytes.data() + (nibbles ? begin / 2 : begin);
      (nibbles ? scale_nibbles : scale_int8)(codes, layout.group, scale, out + row * rows.values() + i);
    }
}

// The codes of the rows as numbers, [count, row values].
void read_codes(const Rows& rows, float* out) {
  const SdnqCodes codes{rows.layout.type, rows.weight.bytes.data(), rows.layout.word_bytes};
  if (!rows.layout.transposed) return sdnq_numbers(codes, rows.first * rows.values(), rows.count * rows.values(), out);
  std::vector<float> column(static_cast<size_t>(rows.count));
  for (int64_t i = 0; i < rows.values(); ++i) {
    sdnq_numbers(codes, i * rows.weight.rows() + rows.first, rows.count, column.data());
    for (int64_t row = 0; row < rows.count; ++row) out[row * rows.values() + i] = column[static_cast<size_t>(row)];
  }
}

// Turns the codes of one row into values in place; `row` counts from the first of the rows.
void apply_scales(const Rows& rows, const Scales& scales, int64_t row, float* values) {
  const SdnqLayout& layout = rows.layout;
  const int64_t inputs = rows.values() / layout.positions;
  for (int64_t i = 0; i < inputs; ++i) {
    const int64_t at = row * layout.scale_row + i / layout.group * layout.scale_group;
    for (int64_t p = 0; p < layout.positions; ++p) {
      float& value = values[i * layout.positions + p];
      const int64_t place = at + p * layout.scale_position;
      value = layout.is_codebook() ? scales.scale_at(place + static_cast<int64_t>(value) * layout.table_step)
                                   : value * scales.scale_at(place) + scales.zero_at(place);
    }
  }
}

// These rows of the left low-rank factor, [count, rank], from either storage.
std::vector<float> left_factor(const Rows& rows) {
  const Weight& up = *rows.weight.side->find("svd_up");
  const int64_t rank = rows.layout.rank;
  if (!rows.layout.factors_transposed) return side_numbers(up, rows.first * rank, rows.count * rank);
  std::vector<float> left(static_cast<size_t>(rows.count * rank));
  for (int64_t k = 0; k < rank; ++k) {
    const std::vector<float> column = side_numbers(up, k * rows.weight.rows() + rows.first, rows.count);
    for (int64_t row = 0; row < rows.count; ++row)
      left[static_cast<size_t>(row * rank + k)] = column[static_cast<size_t>(row)];
  }
  return left;
}

// The right low-rank factor, [rank, row values], from either storage.
std::vector<float> right_factor(const Rows& rows) {
  std::vector<float> stored = rows.weight.side->find("svd_down")->decode_all();
  if (!rows.layout.factors_transposed) return stored;
  const int64_t rank = rows.layout.rank;
  std::vector<float> right(stored.size());
  for (int64_t i = 0; i < rows.values(); ++i)
    for (int64_t k = 0; k < rank; ++k)
      right[static_cast<size_t>(k * rows.values() + i)] = stored[static_cast<size_t>(i * rank + k)];
  return right;
}

void add_factors(const Rows& rows, float* out) {
  const std::vector<float> left = left_factor(rows), right = right_factor(rows);
  const int64_t rank = rows.layout.rank;
  for (int64_t row = 0; row < rows.count; ++row)
    add_low_rank(left.data() + row * rank, right.data(), rank, rows.values(), out + row * rows.values());
}

Status check_sdnq(const Weight& weight) {
  const auto layout = sdnq_layout(weight);
  return layout ? Status() : Status(layout.error());
}

void decode_sdnq(const Weight& weight, int64_t first, int64_t count, float* out) {
  const auto layout = sdnq_layout(weight);
  VENEER_CHECK(layout.has_value());
  const Rows rows{weight, *layout, first, count};
  const Scales scales(rows);
  if (has_vector_loop(rows)) {
    decode_by_runs(rows, scales, out);
  } else {
    read_codes(rows, out);
    for (int64_t row = 0; row < count; ++row) apply_scales(rows, scales, row, out + row * rows.values());
  }
  if (layout->rank > 0) add_factors(rows, out);
  if (layout->rotation > 1) hadamard_rotate(out, count * rows.values(), layout->rotation);
}

}  // namespace

// Blocks differ from type to type; one code a byte stands for all of them where a block is asked for.
extern const Codec kSdnq{"sdnq", 1, 1, check_sdnq, decode_sdnq, nullptr};

}  // namespace veneer::codec
