// Shapes of low-rank factors, Tucker middles, and the terms that they become.
#include "adapt/families/factors.h"

#include <algorithm>

#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

// Whether `down`, [rank, ...], holds rows of the layer: the same dimensions, or the same number of values where one of
// the two is a matrix and so does not tell them apart.
bool holds_rows(const Shape& down, int64_t rank, const Shape& layer) {
  if (down.elements() / rank != layer.elements() / layer[0]) return false;
  if (down.rank() != 4) return down.rank() <= 2;
  Shape rows = layer;
  rows[0] = rank;
  return same_but_trailing_ones(down, rows);
}

}  // namespace

int64_t rank_of(const Shape& down) { return down.rank() < 2 ? 1 : down[0]; }

Result<Factors> fit_factors(const Site& site, std::string_view up_name, const Tensor& up, std::string_view down_name,
                            const Tensor& down) {
  const Shape layer = site.shape();
  const int64_t rank = rank_of(down.shape);
  const int64_t rows = up.shape.rank() == 0 ? 1 : up.shape[0];
  const auto names = [&] {
    return concat(up_name, " ", up.shape.to_string(), " x ", down_name, " ", down.shape.to_string());
  };
  if (up.elements() != rows * rank) return mismatch(site, names(), ": the two do not agree on the rank");
  if (rows != layer[0] || !holds_rows(down.shape, rank, layer)) {
    Shape given = down.shape.rank() < 2 ? Shape{rows, down.elements()} : down.shape;
    given[0] = rows;
    return mismatch(site, names(), " gives ", given.to_string(), ", layer is ", layer.to_string());
  }
  Shape fitted = layer;
  fitted[0] = rank;
  return Factors{up.reshaped({rows, rank}), down.reshaped(fitted)};
}

Result<Tensor> fold_core(const Site& site, std::string_view core_name, const Tensor& core, const Tensor& down) {
  const int64_t q_count = rank_of(down.shape), in = down.elements() / q_count;
  if (core.shape.rank() != 4 || core.shape[1] != q_count || (down.shape.rank() == 4 && down.shape[1] != in))
    return mismatch(site, core_name, " ", core.shape.to_string(), " does not fit a factor of ", down.shape.to_string());
  const int64_t p_count = core.shape[0], kernel = core.shape[2] * core.shape[3];
  std::vector<double> sums(static_cast<size_t>(p_count * in * kernel));
  for (int64_t p = 0; p < p_count; ++p)
    for (int64_t q = 0; q < q_count; ++q)
      for (int64_t i = 0; i < in; ++i)
        for (int64_t pixel = 0; pixel < kernel; ++pixel)
          sums[static_cast<size_t>((p * in + i) * kernel + pixel)] +=
              static_cast<double>(core.f32()[(p * q_count + q) * kernel + pixel]) * down.f32()[q * in + i];
  return to_tensor(sums, {p_count, in, core.shape[2], core.shape[3]});
}

Tensor transposed(const Tensor& matrix) {
  const int64_t rows = matrix.shape.rank() == 0 ? 1 : matrix.shape[0], columns = matrix.elements() / rows;
  Tensor result = Tensor::zeros({columns, rows});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) result.f32()[j * rows + i] = matrix.f32()[i * columns + j];
  return result;
}

nn::Dense as_dense(nn::Term additive, const Site& site, std::string what) {
  nn::Dense dense;
  dense.held_bytes = nn::held_bytes(additive);
  dense.what = std::move(what);
  // Rows may be asked for when the layer that was lowered for is gone.
  dense.rows = [additive = std::move(additive), width = site.layer->weight.row_values()](int64_t first, int64_t count,
                                                                                         float* rows) {
    std::fill_n(rows, count * width, 0.0f);
    nn::add_term_rows(additive, width, first, count, 1.0f, nullptr, rows);
  };
  return dense;
}

nn::Term low_rank_term(const Site& site, const Factors& factors, double scale, std::string_view family) {
  nn::Pair pair{factors.down, factors.up, static_cast<float>(scale), nn::Side::kOutput};
  if (site.layer->geometry.groups == 1) return pair;
  return as_dense(std::move(pair), site, concat(family, " r=", factors.rank()));
}

}  // namespace veneer::adapt
