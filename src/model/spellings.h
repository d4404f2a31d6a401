// The names under which files address the layers of a model: canonical (diffusers), original (LDM), and the variants
// that older programs wrote.
#pragma once

#include "model/model.h"
#include "nn/spelling.h"

namespace veneer::model {

// The model must outlive the table, which points to its layers.
nn::NameTable name_table(const Model& model);

// The same for one network: `layers` with their component in front ("unet.conv_in").
std::vector<nn::Spelling> spellings_of(io::Part part, const nn::LayerList& layers);

}  // namespace veneer::model
