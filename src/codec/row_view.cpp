// Views: a slice of the bytes where blocks allow it, else a codec with the whole weight as its side part "whole".
//
// Settings of that codec: "first", the whole one's row that comes first, and "whole_rows".
#include "codec/row_view.h"

#include <algorithm>

#include "codec/side.h"

namespace veneer::codec {
namespace {

Status check_view(const Weight& view) {
  const Weight whole = whole_of(view);
  if (view.rows() > whole.rows()) return misfit(view, concat("shows more rows than the ", whole.rows(), " stored"));
  return whole.codec->check(whole);
}

void decode_view(const Weight& view, int64_t first, int64_t count, float* out) {
  const Weight whole = whole_of(view);
  const int64_t begin = (view.side->setting("first", 0) + first) % whole.rows();
  const int64_t to_the_end = std::min(count, whole.rows() - begin);
  whole.decode_rows(begin, to_the_end, out);
  if (count > to_the_end) whole.decode_rows(0, count - to_the_end, out + to_the_end * whole.row_values());
}

// Not in the list of formats: no file has it.
constexpr Codec kRowView{"rows", 1, 0, check_view, decode_view, nullptr};

Shape with_rows(Shape shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

// True when rows [first, first + count) are a run of whole blocks of bytes that mean the same wherever they lie.
bool is_run_of_blocks(const Weight& whole, int64_t first, int64_t count) {
  if (whole.side || first + count > whole.rows() || !whole.codec->check(whole)) return false;
  const int64_t begin = first * whole.row_values(), end = begin + count * whole.row_values();
  const int64_t block = whole.codec->block_values;
  return begin % block == 0 && (end % block == 0 || end == whole.elements());
}

}  // namespace

Weight rows_of(const Weight& whole, int64_t first, int64_t count) {
  VENEER_CHECK(whole.shape.rank() > 0 && first >= 0 && first < whole.rows() && count >= 0 && count <= whole.rows());
  if (first == 0 && count == whole.rows()) return whole;
  Weight view = whole;
  view.shape = with_rows(whole.shape, count);
  if (is_run_of_blocks(whole, first, count)) {
    const int64_t begin = encoded_bytes(*whole.codec, first * whole.row_values());
    view.bytes = whole.bytes.subspan(static_cast<size_t>(begin),
                                     static_cast<size_t>(encoded_bytes(*whole.codec, view.elements())));
    return view;
  }
  view.codec = &kRowView;
  view.bytes = {};
  auto side = std::make_shared<SideParts>();
  side->tensors = {{"whole", whole}};
  side->settings = {{"first", first}, {"whole_rows", whole.rows()}, {"open_shape", whole.shape_is_open()}};
  view.side = std::move(side);
  return view;
}

Weight whole_of(const Weight& weight) {
  if (weight.codec != &kRowView) return weight;
  Weight whole = *weight.side->find("whole");
  whole.shape = with_rows(weight.shape, weight.side->setting("whole_rows", 0));
  return whole;
}

int64_t first_row_of(const Weight& view, const Weight& whole) {
  if (view.codec == &kRowView) return view.side->setting("first", 0);
  const auto begin = static_cast<int64_t>(view.bytes.data() - whole.bytes.data());
  return begin / whole.codec->block_bytes * whole.codec->block_values / whole.row_values();
}

}  // namespace veneer::codec
