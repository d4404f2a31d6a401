// The families of models, recognised from tensor names and shapes alone, and what is special to each. A new family is
// an entry in the array of family.cpp and the file of its denoiser.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "io/model_files.h"
#include "model/autoencoder_kl.h"
#include "model/parts.h"

namespace veneer::model {

// A rough colour of each latent channel: red, green, blue in -1..1 for a channel value of 1.
using LatentColours = std::array<std::array<float, 3>, 4>;

struct Family {
  std::string_view name;        // as reports show it: "SD 1.x"
  std::string_view prediction;  // the training's prediction type, when no file says otherwise: "eps"
  LatentScaling latent;
  LatentColours colours;  // for previews
  int native_size;        // pixels a side, when no config says otherwise
  int patch;              // latent pixels a side that become one token; 1 for UNets
  int clip_skip;          // 1 = last layer
  bool (*recognise)(const io::WeightStore& denoiser);
  Result<std::unique_ptr<Denoiser>> (*build)(const io::ModelPart& part);  // null: recognised, but not supported
};

std::span<const Family> families();

// The family of a denoiser. Errors: unsupported, naming the family found (or the sizes that fit none) and those
// supported.
Result<const Family*> identify(const io::ModelPart& denoiser);

}  // namespace veneer::model
