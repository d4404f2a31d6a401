// The original spelling of PixArt's modules, where query, key and value are one matrix, and key and value of the cross
// attention another one.
#pragma once

#include "model/original_modules.h"

namespace veneer::model {

// True for the original spelling ("blocks.0.cross_attn.kv_linear.weight").
bool is_original_pixart(const io::WeightStore& store);

// All modules that a network of so many blocks may have, told the size of pictures or not.
std::vector<OriginalModule> original_pixart_modules(int64_t blocks);

// From the original spelling of a file to the canonical one, tables included. The stand-in for captions that training
// left out is dropped: the encoded empty text takes its place.
NameMap original_pixart_names(const io::WeightStore& store);

// For adapters: the original names of the layers of a PixArt denoiser; none for another network.
std::vector<nn::Spelling> pixart_spellings(const nn::LayerList& layers);

}  // namespace veneer::model
