// The original (MMDiT) spelling of the SD3 denoiser's modules.
#pragma once

#include "model/original_modules.h"

namespace veneer::model {

// True for the original spelling ("joint_blocks.0.x_block.attn.qkv.weight").
bool is_original_sd3(const io::WeightStore& store);

// All modules that a network of `blocks` blocks may have, with or without second attentions and norms of queries and
// keys.
std::vector<OriginalModule> original_sd3_modules(int64_t blocks);

// From the original spelling of a file to the canonical one. The position table, a tensor of its own there, becomes
// "pos_embed.pos_embed".
NameMap original_sd3_names(const io::WeightStore& store);

// For adapters: the original names of the layers of an SD3 denoiser; none for other networks.
std::vector<nn::Spelling> sd3_spellings(const nn::LayerList& layers);

}  // namespace veneer::model
