// The panel cache.
#include "nn/panels.h"

namespace veneer::nn {

const device::Panel* PanelCache::find(const Layer& layer, int64_t first) const {
  const auto found = panels_.find({&layer, first});
  return found == panels_.end() ? nullptr : &found->second;
}

bool PanelCache::keep(const Layer& layer, int64_t first, const device::Panel& panel) {
  if (panel.bytes > budget_ - bytes_) return false;
  bytes_ += panel.bytes;
  panels_.emplace(std::pair{&layer, first}, panel);
  return true;
}

}  // namespace veneer::nn
