// Which family of models an adapter seems to be made for, from its keys and shapes alone; a hint for the message when
// nothing of it fits. Knows no model.
#pragma once

#include <optional>
#include <string>

#include "adapt/adapter.h"

namespace veneer::adapt {

struct Fingerprint {
  std::string family;    // named as models are: "SDXL", "SD 1.x"
  std::string evidence;  // what tells it: "lora_te2_* keys, cross-attention of 2048 inputs"
};

// Empty when nothing tells.
std::optional<Fingerprint> fingerprint(const Adapter& adapter);

}  // namespace veneer::adapt
