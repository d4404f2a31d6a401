// Steps of formats, and sums over their groups.
#include "adapt/rounding_law.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "codec/sdnq_encode.h"

namespace veneer::adapt {
namespace {

// What the steps of a group follow from.
enum class Fit { kNothing, kLargest, kBothEnds };

struct Grid {
  Fit fit = Fit::kNothing;
  double levels = 0;  // of integers: steps to the largest magnitude, or from end to end; 0 for floats
  // Of floats: bits behind the leading one, the least exponent of normal numbers, the number that the largest magnitude
  // is scaled to (fitted ones).
  int mantissa = 0, least_exponent = 0;
  double largest = 0;
  // Values that are fitted together: `group` of them, `stride` apart.
  int64_t group = 1, stride = 1;
};

struct NamedGrid {
  std::string_view codec;
  Grid grid;
};

const NamedGrid kPlainGrids[] = {
    {"f32", {.mantissa = 23, .least_exponent = -126}},
    {"f16", {.mantissa = 10, .least_exponent = -14}},
    {"bf16", {.mantissa = 7, .least_exponent = -126}},
    {"f8_e4m3", {.mantissa = 3, .least_exponent = -6, .largest = 448}},
    {"f8_e5m2", {.mantissa = 2, .least_exponent = -14, .largest = 57344}},
    {"q8_0", {.fit = Fit::kLargest, .levels = 127, .group = 32}},
    {"q4_0", {.fit = Fit::kLargest, .levels = 8, .group = 32}},
    {"q5_0", {.fit = Fit::kLargest, .levels = 16, .group = 32}},
    {"q4_1", {.fit = Fit::kBothEnds, .levels = 15, .group = 32}},
    {"q5_1", {.fit = Fit::kBothEnds, .levels = 31, .group = 32}},
};

std::optional<Grid> plain_grid(std::string_view name) {
  for (const NamedGrid& known : kPlainGrids)
    if (known.codec == name) return known.grid;
  return std::nullopt;
}

std::optional<Grid> grid_of(const codec::PlainForm& form, const Shape& shape) {
  std::optional<Grid> grid = plain_grid(form.codec->name);
  // Any run of values will do for the mean of the change where nothing is fitted.
  if (grid && grid->fit == Fit::kNothing) grid->group = shape.elements() / shape[0];
  return grid;
}

std::optional<Grid> grid_of(const codec::ScaledForm& form, const Shape& shape) {
  std::optional<Grid> grid = plain_grid(form.codec->name);
  if (!grid) return std::nullopt;
  grid->fit = Fit::kLargest;
  grid->group = form.per_row ? shape.elements() / shape[0] : shape.elements();
  return grid;
}

std::optional<Grid> grid_of(const codec::SdnqForm& form, const Shape& shape) {
  if (form.svd_rank > 0 || shape.rank() < 2) return std::nullopt;
  const int bits = form.type.bits;
  Grid grid{.fit = form.type.is_unsigned ? Fit::kBothEnds : Fit::kLargest};
  grid.levels = form.type.is_unsigned ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
  grid.group = codec::sdnq_group(form, shape);
  grid.stride = shape.elements() / (shape[0] * shape[1]);
  return grid;
}

// One group: its values, and what sets its grid.
class Group {
 public:
  Group(const Grid& grid, std::span<const float> weights, size_t begin)
      : grid_(grid), weights_(weights), begin_(begin), least_(begin), largest_(begin) {
    for (int64_t i = 0; i < grid.group; ++i) {
      if (value(i) < weights[least_]) least_ = place(i);
      if (value(i) > weights[largest_]) largest_ = place(i);
    }
  }

  size_t place(int64_t i) const { return begin_ + static_cast<size_t>(i * grid_.stride); }
  double value(int64_t i) const { return weights_[place(i)]; }

  // The value's own change becomes a change of the grid, of which nothing is lost.
  bool is_end(size_t at) const {
    switch (grid_.fit) {
      case Fit::kNothing: return false;
      case Fit::kLargest: return at == (-low() > high() ? least_ : largest_);
      case Fit::kBothEnds: return at == least_ || at == largest_;
    }
    return false;
  }

  // 0 when all values of the group are equal and have no grid.
  double step(double value) const {
    if (grid_.fit == Fit::kBothEnds) return (high() - low()) / grid_.levels;
    if (grid_.levels > 0) return magnitude() / grid_.levels;
    const double scale = grid_.fit == Fit::kLargest ? magnitude() / grid_.largest : 1.0;
    if (scale == 0) return 0;
    int exponent = grid_.least_exponent;
    if (value != 0) exponent = std::max(exponent, std::ilogb(value / scale));
    return std::ldexp(scale, exponent - grid_.mantissa);
  }

  // Both ends change as much as any value does; between them the grid moves with each by its share.
  double shift(double value) const {
    if (grid_.fit == Fit::kLargest) return magnitude() > 0 ? std::pow(value / magnitude(), 2) : 0;
    if (grid_.fit == Fit::kNothing || high() == low()) return 0;
    const double share = (value - low()) / (high() - low());
    return share * share + (1 - share) * (1 - share);
  }

 private:
  double low() const { return weights_[least_]; }
  double high() const { return weights_[largest_]; }
  double magnitude() const { return std::max(-low(), high()); }

  const Grid& grid_;
  std::span<const float> weights_;
  size_t begin_, least_, largest_;
};

void add_group(const Grid& grid, const Group& group, std::span<const double> change, Expected& sums) {
  double mean_square = 0;
  for (int64_t i = 0; i < grid.group; ++i) mean_square += change[group.place(i)] * change[group.place(i)];
  mean_square /= static_cast<double>(grid.group);
  if (mean_square == 0) return;
  for (int64_t i = 0; i < grid.group; ++i) {
    const double step = group.step(group.value(i));
    const bool whole = step == 0 || group.is_end(group.place(i));
    const Kept kept = whole ? Kept{} : kept_on_grid(std::sqrt(mean_square) / step, group.shift(group.value(i)));
    sums.add({mean_square, mean_square * kept.survival, mean_square * kept.error_squared});
  }
}

}  // namespace

Kept kept_on_grid(double t, double shift) {
  const double u = t * std::sqrt(1 + shift);
  // From here on the place between two steps is as good as uniform: the sums are their integrals, to 1e-7.
  if (u > 1) return {1, 1 / (12 * t * t)};
  if (u == 0) return {0, 1 + shift};
  double density = 0, square = 0;
  for (int k = 1; (k - 0.5) / u < 9; ++k) {
    const double z = (k - 0.5) / u;
    density += std::exp(-z * z / 2);
    square += (2 * k - 1) * std::erfc(z / std::numbers::sqrt2);
  }
  const double survival = 2 / u * density / std::sqrt(2 * std::numbers::pi);
  return {survival, (square + u * u * (1 - 2 * survival)) / (t * t)};
}

void Expected::add(const Expected& other) {
  change += other.change;
  kept += other.kept;
  lost += other.lost;
}

std::optional<Expected> expected_on_grids(const codec::Form& form, const Shape& shape, std::span<const float> weights,
                                          std::span<const double> change) {
  const std::optional<Grid> grid = std::visit([&](const auto& one) { return grid_of(one, shape); }, form);
  if (!grid) return std::nullopt;
  Expected sums;
  const auto size = static_cast<size_t>(grid->group * grid->stride);
  for (size_t begin = 0; begin + size <= weights.size(); begin += size)
    for (int64_t position = 0; position < grid->stride; ++position)
      add_group(*grid, Group(*grid, weights, begin + static_cast<size_t>(position)), change, sums);
  return sums;
}

}  // namespace veneer::adapt
