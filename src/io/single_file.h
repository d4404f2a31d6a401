// Tensors of one file, sorted into a model's parts by their names' prefixes, or all into one part when the names are
// bare. Names are only freed of the prefix here; which spelling they are in is the model's affair.
#pragma once

#include <optional>

#include "io/model_files.h"

namespace veneer::io {

// Fills parts, markers, alphas_cumprod, warnings, ignored and unused tensors. `source` goes into the parts and
// warnings. Bare names go into the part that they are recognised as; into `bare` when that is given and either the
// names are not recognised or the two are both CLIP encoders, whose names are alike.
ModelFiles sort_into_parts(const WeightStore& store, const std::string& source,
                           std::optional<Part> bare = std::nullopt);

}  // namespace veneer::io
