// The original spelling of the FLUX.1 denoiser's modules, which is that of its authors and of most programs.
#pragma once

#include "model/original_modules.h"

namespace veneer::model {

// True for the original spelling ("double_blocks.0.img_attn.qkv.weight").
bool is_original_flux(const io::WeightStore& store);

// All modules that a network of so many blocks may have.
std::vector<OriginalModule> original_flux_modules(int64_t double_blocks, int64_t single_blocks);

// From the original spelling of a file to the canonical one.
NameMap original_flux_names(const io::WeightStore& store);

// For adapters: the original names of the layers of a FLUX.1 denoiser, and those of the XLabs files; none for other
// networks.
std::vector<nn::Spelling> flux_spellings(const nn::LayerList& layers);

}  // namespace veneer::model
