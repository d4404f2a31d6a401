// Norms of the rows or columns of an adapted weight, as DoRA divides by them: one pass over the decoded weight in
// blocks of rows, summed in double. Nothing of the weight's size is allocated.
#pragma once

#include <span>
#include <vector>

#include "adapt/family.h"

namespace veneer::adapt {

// ||V[o, ...]|| for each row o of the site, V = W + factor * (the sum of the additive terms).
std::vector<double> row_norms(const Site& site, std::span<const nn::Term> terms, double factor);

// ||V[:, i, ...]|| over the site's rows and the kernel, for each input channel i of a row ([in / groups]).
std::vector<double> column_norms(const Site& site, std::span<const nn::Term> terms, double factor);

}  // namespace veneer::adapt
