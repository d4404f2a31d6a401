// The devices of this build.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "device/device.h"

namespace veneer::device {

struct DeviceKind {
  std::string_view name;
  // `threads` is the size of the OpenMP pool that the caller's engine thread has. `strict` asks for the plainest
  // arithmetic.
  Result<std::unique_ptr<Device>> (*open)(int threads, bool strict);
};

// A plain constant array, best first; `ref` last.
std::span<const DeviceKind> device_kinds();
// "", "auto" and "default" mean the first; "mask(cpu; device-memory)" wraps one (mask/mask_device.h). Errors: usage for
// a name that is none, listing those that are.
Result<std::unique_ptr<Device>> open_device(std::string_view name, int threads, bool strict);

// Has every operation and computes nothing: for measuring what a network will allocate and how much it will compute.
class DryDevice : public Device {
 public:
  // Of all products, convolutions (by their definition) and attention so far; a multiply-add counts as two.
  virtual double flops() const = 0;
};
std::unique_ptr<DryDevice> make_dry_device();

}  // namespace veneer::device
