// Comparing two written files as pictures.
#pragma once

#include <filesystem>

#include "core/result.h"

namespace veneer::cases {

// The mean absolute difference of two pictures over all pixels and channels, in steps of 1/255. Errors: those of
// reading a picture; mismatch when width, height or channels differ.
Result<double> mean_difference(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace veneer::cases
