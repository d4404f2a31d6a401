// Arenas and caches of a session.
#include "pipeline/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "device/devices.h"

namespace veneer::pipeline {

Footprint measure(const std::function<void(nn::Context&)>& work, const nn::OverlaySet* overlays,
                  device::Compute compute) {
  const std::unique_ptr<device::DryDevice> dry = device::make_dry_device();
  device::Arena arena = device::Arena::measuring();
  nn::PanelCache panels(0);
  nn::Context context{*dry, arena, panels, overlays, compute};
  work(context);
  return {arena.peak(), context.kept_bytes, dry->flops()};
}

void Workplace::lay(std::shared_ptr<const nn::OverlaySet> overlays, const nn::LayerList& layers) {
  if (overlays == overlays_) return;
  const auto drop_own_panels = [&](const nn::OverlaySet& set, const nn::OverlaySet* other, bool layers_too) {
    for (size_t i = 0; i < set.size(); ++i) {
      const nn::Overlay* overlay = set[i].get();
      if (!overlay || !overlay->has_own_panels() || (other && (*other)[i].get() == overlay)) continue;
      panels_.forget(layers_too ? static_cast<const void*>(&layers.all()[i]) : overlay);
    }
  };
  if (overlays_) drop_own_panels(*overlays_, overlays.get(), false);
  // A layer under an overlay with panels of its own leaves them its room.
  if (overlays) drop_own_panels(*overlays, overlays_.get(), true);
  overlays_ = std::move(overlays);
}

void Workplace::prepare(const std::function<void(nn::Context&)>& work) {
  const size_t bytes = measure(work, overlays_.get(), compute_).bytes;
  arena_ = std::make_unique<device::Arena>(bytes);
  largest_arena_ = std::max(largest_arena_, bytes);
}

void Workplace::repeat(const std::function<void(nn::Context&)>& work) {
  nn::Context context{device_, *arena_, panels_, overlays_.get(), compute_};
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
