// Encoding of F8 with scales: per tensor or per row, scale = largest magnitude / largest F8 number, code = value /
// scale rounded to nearest even. A tensor or row of zeros has the scale 1.
#pragma once

#include "codec/encode.h"

namespace veneer::codec {

std::vector<StoredTensor> scaled_tensors(const ScaledForm& form, const Shape& shape);

// The values are finite. Bytes of the tensors above.
std::vector<std::vector<std::byte>> encode_scaled(const ScaledForm& form, std::span<const float> values,
                                                  const Shape& shape);

}  // namespace veneer::codec
