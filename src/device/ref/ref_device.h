// The reference device: every operation as the plainest loop that is right, sums in double precision. It is the oracle
// that other devices are tested against, and slow.
#pragma once

#include <memory>

#include "device/device.h"

namespace veneer::device::ref {

Result<std::unique_ptr<Device>> open(int threads, bool strict);

}  // namespace veneer::device::ref
