// The original (LDM) spelling of a whole model's layers, with the prefix of the part in front: the namespace that type
// rules, adapters and logs use, because people write rules over these names.
// "model.diffusion_model.input_blocks.1.0.in_layers.2", "cond_stage_model.transformer.text_model.encoder.layers.0...",
// "first_stage_model.decoder.up.3.block.1.conv2".
#pragma once

#include <string>
#include <string_view>

#include "io/model_files.h"
#include "model/name_map.h"

namespace veneer::model {

// "model.diffusion_model." for the denoiser, "tae." for a tiny autoencoder.
std::string_view original_prefix(io::Part part);

class OriginalNames {
 public:
  // `names` are those of the part's tensors or modules without a prefix, in any spelling that can be read. Blocks are
  // numbered by what is there, so all names are needed.
  OriginalNames(io::Part part, const NameSet& names);

  // One of these names, or what lies below one ("conv_in", "conv_in.weight"), prefix in front. A name that no network
  // has keeps its own spelling behind the prefix.
  std::string operator()(std::string_view name) const;

 private:
  std::string_view prefix_;
  NameMap canonical_, original_;  // from the spelling of the names, and from the canonical one
};

}  // namespace veneer::model
