// With W = (Wq + P Q) R the wanted change D = U V joins as [P | U] [Q ; V R], for R is its own inverse.
#include "codec/side_factors.h"

#include <algorithm>

#include "codec/hadamard.h"
#include "codec/sdnq_layout.h"

namespace veneer::codec {
namespace {

// A matrix [rows, columns], or its transpose, as a float32 side part.
Weight part_of(const std::vector<float>& values, int64_t rows, int64_t columns, bool transposed) {
  const Codec& f32 = *find_codec("f32");
  if (!transposed) return weight_from(values, {rows, columns}, f32);
  std::vector<float> turned(values.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      turned[static_cast<size_t>(j * rows + i)] = values[static_cast<size_t>(i * columns + j)];
  return weight_from(turned, {columns, rows}, f32);
}

// The stored factor as [rows, columns].
std::vector<float> plain_factor(const Weight& part, int64_t rows, int64_t columns, bool transposed) {
  std::vector<float> stored = part.decode_all();
  if (!transposed) return stored;
  std::vector<float> plain(stored.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      plain[static_cast<size_t>(i * columns + j)] = stored[static_cast<size_t>(j * rows + i)];
  return plain;
}

}  // namespace

std::optional<Weight> with_side_factors(const Weight& weight, std::span<const float> up, std::span<const float> down,
                                        int64_t rank) {
  if (weight.codec != find_codec("sdnq")) return std::nullopt;
  const auto layout = sdnq_layout(weight);
  VENEER_CHECK(layout.has_value());
  const int64_t rows = weight.rows(), values = weight.row_values(), own = layout->rank, all = own + rank;
  std::vector<float> left(static_cast<size_t>(rows * all)), right(static_cast<size_t>(all * values));
  if (own > 0) {
    const std::vector<float> p = plain_factor(*weight.side->find("svd_up"), rows, own, layout->factors_transposed);
    const std::vector<float> q = plain_factor(*weight.side->find("svd_down"), own, values, layout->factors_transposed);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(p.data() + i * own, own, left.data() + i * all);
    std::copy(q.begin(), q.end(), right.begin());
  }
  for (int64_t i = 0; i < rows; ++i) std::copy_n(up.data() + i * rank, rank, left.data() + i * all + own);
  std::copy_n(down.data(), rank * values, right.data() + own * values);
  if (layout->rotation > 1) hadamard_rotate(right.data() + own * values, rank * values, layout->rotation);

  // A weight that had no factors does not show how they would lie; its settings do, and the layout reads them.
  for (const bool transposed : {layout->factors_transposed, !layout->factors_transposed}) {
    auto side = std::make_shared<SideParts>(*weight.side);
    side->tensors.insert_or_assign("svd_up", part_of(left, rows, all, transposed));
    side->tensors.insert_or_assign("svd_down", part_of(right, all, values, transposed));
    Weight changed = weight;
    changed.side = std::move(side);
    const auto read = sdnq_layout(changed);
    if (read && read->rank == all && read->factors_transposed == transposed) return changed;
  }
  VENEER_CHECK(false);
  return std::nullopt;
}

}  // namespace veneer::codec
