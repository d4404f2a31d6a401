// Decoded and packed weights, kept while a budget lasts. Only a cache: a panel is always made from the stored bytes,
// may be dropped at any time and is never changed. Networks use their layers in the same order again and again, so what
// came first stays: evicting the oldest would drop each panel just before its next use.
#pragma once

#include <cstddef>
#include <map>

#include "device/operations.h"

namespace veneer::nn {

class PanelCache {
 public:
  explicit PanelCache(size_t budget_bytes) : budget_(budget_bytes) {}

  // The panel of a weight's outputs [first, ...), or null. `key` is the layer, or the overlay whose own panels these
  // are.
  const device::Panel* find(const void* key, int64_t first) const;
  // Takes the panel if it fits into what is left of the budget, in the place of one that is there.
  bool keep(const void* key, int64_t first, const device::Panel& panel);
  // Drops all panels of one key: an overlay that is going away, or a layer whose panels are not needed under an
  // overlay.
  void forget(const void* key);

  // The latest panel that was not kept, outside the budget: the next is made in its memory. Fresh memory for each would
  // cost a tenth of a step, in page faults.
  device::Panel& spare() { return spare_; }

  void clear();  // the spare one too
  // Drops everything when it no longer fits.
  void set_budget(size_t budget_bytes);

  size_t bytes() const { return bytes_; }
  size_t budget() const { return budget_; }
  size_t room() const { return budget_ - bytes_; }

 private:
  size_t budget_;
  size_t bytes_ = 0;
  device::Panel spare_;
  std::map<std::pair<const void*, int64_t>, device::Panel> panels_;
};

}  // namespace veneer::nn
