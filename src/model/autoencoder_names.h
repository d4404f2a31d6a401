// The original (LDM) spelling of an autoencoder's tensors, and the older diffusers spelling of its attention.
#pragma once

#include "model/name_map.h"

namespace veneer::model {

// From either of the other spellings to the canonical one ("decoder.up_blocks.0.resnets.1.conv2"); the identity for
// that one.
NameMap autoencoder_names(const NameSet& names);

// From the canonical spelling to the original one ("decoder.up.3.block.1.conv2").
NameMap original_autoencoder_names(const NameSet& canonical);

}  // namespace veneer::model
