// What a network needs to run: where it computes, where its activations live, its panels and what is laid over its
// layers. Used on the engine thread only.
#pragma once

#include "device/arena.h"
#include "device/device.h"
#include "nn/kept_products.h"
#include "nn/layer.h"
#include "nn/overlay.h"
#include "nn/panels.h"

namespace veneer::nn {

struct Context {
  device::Device& device;
  device::Arena& arena;
  PanelCache& panels;
  const OverlaySet* overlays = nullptr;
  device::Compute compute = device::Compute::kF32;  // of base products
  KeptProducts* kept = nullptr;                     // for linear_once; of this network, this input and these overlays
  size_t kept_bytes = 0;                            // while measuring: what `kept` would come to

  // Measuring: the device is a dry one, nothing may be read or written.
  bool measuring() const { return arena.is_measuring(); }
  const Overlay* overlay_of(const Layer& layer) const {
    return overlays ? (*overlays)[static_cast<size_t>(layer.id)].get() : nullptr;
  }
};

}  // namespace veneer::nn
