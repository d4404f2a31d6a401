// Weights of every stored form and of any shape, with seeded codes and scales that keep the values near 1: for
// products, and for the clock. Knows the places of scales in bytes, not what codes mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/weight.h"

namespace veneer::test {

// Every codec by its name, and the layouts of SDNQ as "sdnq:TYPE" with ":svd", ":rotated" or ":transposed" behind.
std::vector<std::string> weight_kinds();

// `shape` is [rows, inputs] or [rows, inputs, kernel, kernel]. Empty when the kind cannot hold it: codes that do not
// fill whole bytes, or rows too short to be stored transposed. The same seed gives the same bytes.
std::optional<codec::Weight> weight_of_kind(const std::string& kind, const Shape& shape, uint32_t seed);

}  // namespace veneer::test
