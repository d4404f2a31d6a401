// Arenas and caches of a session.
#include "pipeline/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "device/devices.h"

namespace veneer::pipeline {

size_t measure(const std::function<void(nn::Context&)>& work) {
  const std::unique_ptr<device::Device> dry = device::make_dry_device();
  device::Arena arena = device::Arena::measuring();
  nn::PanelCache panels(0);
  nn::Context context{*dry, arena, panels};
  work(context);
  return arena.peak();
}

void Workplace::prepare(const std::function<void(nn::Context&)>& work) {
  const size_t bytes = measure(work);
  arena_ = std::make_unique<device::Arena>(bytes);
  largest_arena_ = std::max(largest_arena_, bytes);
}

void Workplace::repeat(const std::function<void(nn::Context&)>& work) {
  nn::Context context{device_, *arena_, panels_};
  work(context);
}

void Workplace::run(const std::function<void(nn::Context&)>& work) {
  prepare(work);
  repeat(work);
  finish();
}

uint64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string key, unit; info >> key;) {
    uint64_t kilobytes = 0;
    if (key == "MemAvailable:" && info >> kilobytes) return kilobytes * 1024;
    std::getline(info, unit);
  }
  return 0;
}

}  // namespace veneer::pipeline
