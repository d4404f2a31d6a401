// The panel pass behind both norms.
#include "adapt/norms.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "codec/row_sums.h"
#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

// Calls `visit(first, count, values)` for blocks of the decoded rows in order.
template <typename Visit>
void for_each_block(const Site& site, const Visit& visit) {
  constexpr int64_t kValuesPerBlock = 1 << 16, kRowMultiple = 48;
  const int64_t width = site.layer->weight.row_values();
  const int64_t wanted = (kValuesPerBlock / width + kRowMultiple) / kRowMultiple * kRowMultiple;
  const int64_t block = std::min(wanted, site.rows);
  std::vector<float> base(static_cast<size_t>(block * width));
  for (int64_t first = 0; first < site.rows; first += block) {
    const int64_t count = std::min(block, site.rows - first);
    site.layer->weight.decode_rows(site.first_row + first, count, base.data());
    visit(first, count, base.data());
  }
}

// Calls `visit(row, values)` for the rows of V in order.
template <typename Visit>
void for_each_row(const Site& site, std::span<const nn::Term> terms, double factor, const Visit& visit) {
  const int64_t width = site.layer->weight.row_values();
  std::vector<double> rows;
  for_each_block(site, [&](int64_t first, int64_t count, const float* base) {
    rows.assign(base, base + count * width);
    for (const nn::Term& term : terms) nn::add_term_rows(term, width, first, count, factor, base, rows.data());
    for (int64_t row = 0; row < count; ++row)
      visit(first + row, std::span<const double>(rows.data() + row * width, static_cast<size_t>(width)));
  });
}

double sum_of_squares(std::span<const double> values) {
  constexpr size_t kSums = 8;  // side by side, so that an addition need not wait for the one before
  double sums[kSums] = {};
  for (size_t i = 0; i < values.size(); ++i) sums[i % kSums] += values[i] * values[i];
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

// Squares of V = W + factor * pair: by far the most common case, for which no row of V is ever written.
std::vector<double> squares_with_pair(const Site& site, const nn::Pair& pair, double factor) {
  const int64_t rank = pair.up.shape[1], width = site.layer->weight.row_values();
  std::vector<double> factors(static_cast<size_t>(site.rows * rank));
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = factor * double{pair.scale} * double{pair.up.values()[i]};
  std::vector<double> squares(static_cast<size_t>(site.rows));
  for_each_block(site, [&](int64_t first, int64_t count, const float* base) {
    codec::squares_of_sums({pair.down.f32(), width, rank, width}, base, factors.data() + first * rank, count,
                           squares.data() + first);
  });
  return squares;
}

std::vector<double> roots(std::vector<double> squares) {
  for (double& value : squares) value = std::sqrt(value);
  return squares;
}

}  // namespace

std::vector<double> row_norms(const Site& site, std::span<const nn::Term> terms, double factor) {
  if (terms.size() == 1)
    if (const nn::Pair* pair = std::get_if<nn::Pair>(&terms.front()))
      return roots(squares_with_pair(site, *pair, factor));
  std::vector<double> squares(static_cast<size_t>(site.rows));
  for_each_row(site, terms, factor, [&](int64_t row, std::span<const double> values) {
    squares[static_cast<size_t>(row)] = sum_of_squares(values);
  });
  return roots(std::move(squares));
}

std::vector<double> column_norms(const Site& site, std::span<const nn::Term> terms, double factor) {
  const auto kernel = static_cast<size_t>(site.layer->kernel_size());
  std::vector<double> squares(static_cast<size_t>(site.layer->weight.row_values()) / kernel);
  for_each_row(site, terms, factor, [&](int64_t, std::span<const double> values) {
    for (size_t i = 0; i < values.size(); ++i) squares[i / kernel] += values[i] * values[i];
  });
  return roots(std::move(squares));
}

}  // namespace veneer::adapt
