// What written pictures show and carry.
#pragma once

#include <filesystem>

#include "core/json.h"
#include "core/result.h"

namespace veneer::cases {

// The mean absolute difference of two pictures over all pixels and channels, in steps of 1/255. Errors: those of
// reading a picture; mismatch when width, height or channels differ.
Result<double> mean_difference(const std::filesystem::path& a, const std::filesystem::path& b);

// The receipt of the adapters that a picture was made with. Errors: those of reading the file; mismatch when it carries
// none.
Result<Json> receipt_of(const std::filesystem::path& picture);

}  // namespace veneer::cases
