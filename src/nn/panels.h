// Decoded and packed weights, kept while a budget lasts. Only a cache: a panel is always made from the stored bytes,
// may be dropped at any time and is never changed. Networks use their layers in the same order again and again, so what
// came first stays: evicting the oldest would drop each panel just before its next use.
#pragma once

#include <cstddef>
#include <map>

#include "device/operations.h"

namespace veneer::nn {

struct Layer;

class PanelCache {
 public:
  explicit PanelCache(size_t budget_bytes) : budget_(budget_bytes) {}

  // The panel of the layer's outputs [first, ...), or null.
  const device::Panel* find(const Layer& layer, int64_t first) const;
  // Takes the panel if it fits into what is left of the budget.
  bool keep(const Layer& layer, int64_t first, const device::Panel& panel);

  size_t bytes() const { return bytes_; }
  size_t budget() const { return budget_; }

 private:
  size_t budget_;
  size_t bytes_ = 0;
  std::map<std::pair<const Layer*, int64_t>, device::Panel> panels_;
};

}  // namespace veneer::nn
