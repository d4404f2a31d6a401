// The list of devices, and opening one by name.
#include "device/devices.h"

#include <array>

#include "device/cpu/cpu_device.h"
#include "device/mask/mask_device.h"
#include "device/ref/ref_device.h"

namespace veneer::device {
namespace {

constexpr std::array kDeviceKinds = {
    DeviceKind{"cpu", cpu::open},
    DeviceKind{"ref", ref::open},
};

}  // namespace

std::span<const DeviceKind> device_kinds() { return kDeviceKinds; }

Result<std::unique_ptr<Device>> open_device(std::string_view name, int threads, bool strict) {
  if (name.empty() || name == "auto" || name == "default") return kDeviceKinds.front().open(threads, strict);
  if (name.starts_with("mask(")) return mask::open(name, threads, strict);
  std::vector<std::string> names;
  for (const DeviceKind& kind : kDeviceKinds) {
    if (kind.name == name) return kind.open(threads, strict);
    names.emplace_back(kind.name);
  }
  return Error{ErrorCode::kUsage, concat("backend: \"", name, "\" is none; this build has ", join(names, ", ")),
               "backend"};
}

}  // namespace veneer::device
