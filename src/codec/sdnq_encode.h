// Encoding of SDNQ weights: integers of 8 or 4 bits with one scale (and, without a sign, one zero point) for a row or
// for groups of inputs, beside an optional low-rank part. Convolutions have their own scales for each kernel position.
//
// With a sign: scale = largest magnitude / (2^(bits - 1) - 1), code = value / scale. Without: zero point = least value,
// scale = (largest - least) / (2^bits - 1), code = (value - zero point) / scale. Codes round to nearest even; a group
// of equal values has scale 0 or the codes 0. The low-rank part is taken out first, rounded as it is stored, so that
// the codes make up for its rounding.
#pragma once

#include "codec/encode.h"

namespace veneer::codec {

// Inputs that share a scale. An automatic group has 2^(1 + bits + [is a linear layer] + [has a low-rank part]) inputs;
// any group is widened until it divides the inputs, to all of them at most.
int64_t sdnq_group(const SdnqForm& form, const Shape& shape);

// In the order weight, scale, zero point, svd_up, svd_down, as far as there are such.
std::vector<StoredTensor> sdnq_tensors(const SdnqForm& form, const Shape& shape);

// The values are finite. Bytes of the tensors above.
std::vector<std::vector<std::byte>> encode_sdnq(const SdnqForm& form, std::span<const float> values,
                                                const Shape& shape);

}  // namespace veneer::codec
