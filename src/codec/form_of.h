// The form of a weight that was read: the way back from codecs to encoders.
#pragma once

#include <optional>
#include <string>

#include "codec/encode.h"

namespace veneer::codec {

// The form in which a weight is held (a view of rows: that of the whole), so that new values can be stored likewise.
// Empty for formats that are only read, and for SDNQ weights with a low-rank part, a rotation or codes that are no
// integers of 4 or 8 bits.
std::optional<Form> form_of(const Weight& weight);

// How a weight is held, in the words that options have for forms where they have one: "q8_0", "f8_e4m3_scaled_rows",
// "sdnq_uint4_svd"; else the codec's name.
std::string form_name(const Weight& weight);

}  // namespace veneer::codec
