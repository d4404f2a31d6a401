// Where the parts of a model compute: measured arenas and panel caches. Arenas live as long as a phase of a run; caches
// as long as the session, unless another phase needs the room.
#pragma once

#include <functional>
#include <memory>

#include "core/json.h"
#include "device/device.h"
#include "model/parts.h"
#include "nn/context.h"

namespace veneer::pipeline {

// What a piece of work takes: bytes of activations, of products kept from call to call, and operations of its products
// and attention.
struct Footprint {
  size_t bytes = 0;
  size_t kept_bytes = 0;
  double flops = 0;
};
// Runs `work` once on a dry device.
Footprint measure(const std::function<void(nn::Context&)>& work, const nn::OverlaySet* overlays = nullptr,
                  device::Compute compute = device::Compute::kF32);

// Where one network computes. The cache of panels is shared by all that may keep any, so that they have one budget.
class Workplace {
 public:
  Workplace(device::Device& device, nn::PanelCache& panels, device::Compute compute = device::Compute::kF32)
      : device_(device), panels_(panels), compute_(compute) {}

  // What is laid over the network's layers (`layers`) from now on; null for nothing. Panels that only the set before
  // needed are dropped.
  void lay(std::shared_ptr<const nn::OverlaySet> overlays, const nn::LayerList& layers);

  // Measures `work`, makes an arena of that size and runs it there. Tensors that `work` keeps must be copies outside
  // the arena.
  void run(const std::function<void(nn::Context&)>& work);
  // The same for work that is done again and again: prepare() makes the arena, repeat() uses it, finish() lets it go.
  void prepare(const std::function<void(nn::Context&)>& work);
  void repeat(const std::function<void(nn::Context&)>& work);
  void finish() { arena_.reset(); }

  size_t arena_bytes() const { return largest_arena_; }  // the largest so far

 private:
  device::Device& device_;
  nn::PanelCache& panels_;
  device::Compute compute_;
  std::shared_ptr<const nn::OverlaySet> overlays_;
  std::unique_ptr<device::Arena> arena_;
  size_t largest_arena_ = 0;
};

// Bytes of memory that the machine could still give, or 0 when it does not tell.
uint64_t available_memory();

}  // namespace veneer::pipeline
