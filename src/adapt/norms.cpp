// The panel pass behind both norms.
#include "adapt/norms.h"

#include <algorithm>
#include <cmath>

#include "nn/term_rows.h"

namespace veneer::adapt {
namespace {

// Calls `visit(row, values)` for the rows of V in order.
template <typename Visit>
void for_each_row(const Site& site, std::span<const nn::Term> terms, double factor, const Visit& visit) {
  constexpr int64_t kValuesPerBlock = 1 << 16;
  const int64_t width = site.layer->weight.row_values();
  const int64_t block = std::clamp<int64_t>(kValuesPerBlock / width, 1, site.rows);
  std::vector<float> base(static_cast<size_t>(block * width));
  for (int64_t first = 0; first < site.rows; first += block) {
    const int64_t count = std::min(block, site.rows - first);
    site.layer->weight.decode_rows(site.first_row + first, count, base.data());
    std::vector<double> rows(base.begin(), base.begin() + count * width);
    for (const nn::Term& term : terms)
      nn::add_term_rows(term, *site.layer, first, count, factor, base.data(), rows.data());
    for (int64_t row = 0; row < count; ++row)
      visit(first + row, std::span<const double>(rows.data() + row * width, static_cast<size_t>(width)));
  }
}

std::vector<double> roots(std::vector<double> squares) {
  for (double& value : squares) value = std::sqrt(value);
  return squares;
}

}  // namespace

std::vector<double> row_norms(const Site& site, std::span<const nn::Term> terms, double factor) {
  std::vector<double> squares(static_cast<size_t>(site.rows));
  for_each_row(site, terms, factor, [&](int64_t row, std::span<const double> values) {
    for (const double value : values) squares[static_cast<size_t>(row)] += value * value;
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
