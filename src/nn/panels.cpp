// The panel cache.
#include "nn/panels.h"

#include <limits>

namespace veneer::nn {

const device::Panel* PanelCache::find(const void* key, int64_t first) const {
  const auto found = panels_.find({key, first});
  return found == panels_.end() ? nullptr : &found->second;
}

bool PanelCache::keep(const void* key, int64_t first, const device::Panel& panel) {
  const auto place = panels_.find({key, first});
  const size_t freed = place == panels_.end() ? 0 : place->second.bytes;
  if (panel.bytes > budget_ - bytes_ + freed) return false;
  bytes_ += panel.bytes - freed;
  panels_.insert_or_assign({key, first}, panel);
  return true;
}

void PanelCache::clear() {
  panels_.clear();
  bytes_ = 0;
  spare_ = {};
}

void PanelCache::set_budget(size_t budget_bytes) {
  if (bytes_ > budget_bytes) clear();
  budget_ = budget_bytes;
}

void PanelCache::forget(const void* key) {
  const auto begin = panels_.lower_bound({key, std::numeric_limits<int64_t>::min()});
  auto end = begin;
  for (; end != panels_.end() && end->first.first == key; ++end) bytes_ -= end->second.bytes;
  panels_.erase(begin, end);
}

}  // namespace veneer::nn
