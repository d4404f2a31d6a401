// The spellings of CLIP text encoders. Canonical is that of Hugging Face, "text_model.encoder.layers.0.mlp.fc1".
#pragma once

#include "model/name_map.h"
#include "nn/spelling.h"

namespace veneer::model {

// Names as they are to the canonical ones. Very old checkpoints and the newest library leave out the leading
// "text_model."; OpenCLIP has names of its own ("transformer.resblocks.0.mlp.c_fc"), among them one for query, key and
// value together, which has no single canonical name and stays.
NameMap clip_names(const NameSet& names);

// The weights under canonical names. What OpenCLIP holds in another form is brought to the canonical one: the fused
// projection as views of its rows, the text projection, which it stores transposed, as a copy in float32.
io::WeightStore canonical_clip(const io::WeightStore& store);

// OpenCLIP's names of an encoder's layers, for adapters.
std::vector<nn::Spelling> open_clip_spellings(io::Part part, const nn::LayerList& layers);

}  // namespace veneer::model
