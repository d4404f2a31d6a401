// What merging a change into a number format keeps of it, measured by doing it and predicted by the law of rounding.
// Formats round to steps that are often coarser than the change of an adapter, and then most of it is lost.
//
// With W the weight, D the wanted change and A the achieved one: survival = <A, D> / <D, D>, error = |A - D| / |D| (1
// is as bad as no change at all), rho = |D| / |W|.
#pragma once

#include <optional>
#include <span>

#include "adapt/merged.h"
#include "adapt/rounding_law.h"
#include "nn/layer.h"
#include "nn/terms.h"

namespace veneer::adapt {

// Sums of squares over weights, so that many layers come to one figure.
struct ErasureSums {
  AchievedSums measured;
  double change = 0, weight = 0;
  Expected expected;
  double unpredicted = 0;  // of `change`, in formats without a closed formula

  void add(const ErasureSums& other);
  double rho() const;
  std::optional<Achieved> predicted() const;  // empty when something is unpredicted, or nothing changes
};

// What becomes of the programs' change in the layer's weight where that is held in `form`: the weight is brought into
// the form, unless it lies in it already; the change is added; the sum is encoded again. Of a large weight some rows
// stand for all, unless the form judges all rows together. Norms change as vectors.
// Errors: those of codec::encode; unsupported when the form cannot hold the shape.
Result<ErasureSums> measure_erasure(const nn::Layer& layer, std::span<const nn::Program> programs,
                                    const codec::Form& form);

}  // namespace veneer::adapt
