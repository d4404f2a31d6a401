// Low-rank changes worked into the side factors that a format has for its own corrections (SDNQ's svd_up and svd_down):
// exact whatever the codes are, for nothing is encoded again.
#pragma once

#include <optional>
#include <span>

#include "codec/weight.h"

namespace veneer::codec {

// W + up down: a weight that shares the bytes and all other side parts of this one, which stays as it is. `up` is
// [rows, rank], `down` [rank, row values], over the weight as it is decoded: where the format rotates its inputs, the
// rotation is taken care of here. Empty for formats without side factors.
std::optional<Weight> with_side_factors(const Weight& weight, std::span<const float> up, std::span<const float> down,
                                        int64_t rank);

}  // namespace veneer::codec
