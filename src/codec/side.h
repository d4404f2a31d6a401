// What the codecs with side parts share.
#pragma once

#include "codec/weight.h"

namespace veneer::codec {

// The bad_file of a weight whose bytes, side parts or settings do not fit its shape.
Error misfit(const Weight& weight, const std::string& what);

// Numbers [begin, begin + count) of a side part as one flat array, whatever its shape. The part has passed its check.
std::vector<float> side_numbers(const Weight& part, int64_t begin, int64_t count);

}  // namespace veneer::codec
