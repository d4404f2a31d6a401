// How much of a small change of values survives when they are rounded to a number format again, by a closed formula:
// nothing is encoded. Knows the steps of formats, not their bytes.
#pragma once

#include <optional>
#include <span>

#include "codec/encode.h"

namespace veneer::adapt {

struct Kept {
  double survival = 1;       // <A, D> / <D, D> of the wanted change D and the achieved one A, as expected
  double error_squared = 0;  // <A - D, A - D> / <D, D>
};

// A value lies on a grid, changes by a normal amount of deviation `t` steps, and is rounded to the grid again. Where
// the grid is fitted to the changed values, it moves against the value's old place by a normal amount of deviation
// t * sqrt(shift). With u = t sqrt(1 + shift), phi the normal density and Q its upper tail:
//   survival = 2 / u * (sum over k >= 1 of phi((k - 1/2) / u))
//   error^2  = ((sum over k >= 1 of 2 (2 k - 1) Q((k - 1/2) / u)) + u^2 (1 - 2 survival)) / t^2
Kept kept_on_grid(double t, double shift);

// The law over many values; each counts with the mean square of the change in the group that shares its grid.
struct Expected {
  double change = 0, kept = 0, lost = 0;  // sums of squares: of the change, times survival, times error^2

  void add(const Expected& other);
};

// For `weights`, whole rows of `shape` that lie on the form's grids, and the change of each. The values that set a
// grid's ends keep all of their change. Empty where the steps follow from a search (K-quants) or from a low-rank part.
std::optional<Expected> expected_on_grids(const codec::Form& form, const Shape& shape, std::span<const float> weights,
                                          std::span<const double> change);

}  // namespace veneer::adapt
