// The original (LDM) spelling of a UNet's tensors, read block by block from the names themselves: reduced and distilled
// UNets differ in every number, and their blocks may be numbered with gaps.
#pragma once

#include "model/name_map.h"

namespace veneer::model {

// True for the original spelling ("input_blocks.0.0.weight").
bool is_original_unet(const io::WeightStore& store);

// From the original spelling of a file to the canonical one ("down_blocks.0.resnets.0.conv1").
NameMap original_unet_names(const io::WeightStore& store);

// From the canonical spelling to the original one, whose blocks are numbered without gaps.
NameMap unet_names_as_original(const NameSet& canonical);

}  // namespace veneer::model
