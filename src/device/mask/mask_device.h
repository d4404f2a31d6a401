// A device that wraps another one and takes things away: operations, the host's access to its memory, adding float32
// into weights of some types. With it the situations of machines that are not at hand are met in tests, and it computes
// what the wrapped device computes.
#pragma once

#include "device/device.h"

namespace veneer::device::mask {

// "mask(INNER; WHAT; WHAT...)", with WHAT one of
//   device-memory      weights are out of the host's reach
//   no-add=TYPE        float32 can not be added to a weight of this type: "f16", "bf16", "f32"; several WHATs may say
//   so no-op=OPERATION    the operation is missing: "RotateColumns", ...
// Errors: usage, quoting what is not understood.
Result<std::unique_ptr<Device>> open(std::string_view spec, int threads, bool strict);

}  // namespace veneer::device::mask
