// Strengths by block: one number for the text encoders and one for each block of the denoiser in its original
// numbering, as a list or as a preset's name (`lbw=`), and one for each side of a UNet (`in=`, `mid=`, `out=`). Knows
// names of blocks only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/model_files.h"

namespace veneer::adapt {

// The block that an original name lies in: "input_blocks.4.1.proj_in" -> "input_blocks.4", "double_blocks.3",
// "final_layer"; empty for a name outside of blocks and for canonical names.
std::string original_block(std::string_view name);

class BlockWeights {
 public:
  BlockWeights() = default;  // 1 everywhere

  // A preset ("OUTALL") or numbers with commas between them, whose count tells their order:
  //   12  BASE IN04-IN05 IN07-IN08 MID OUT00-OUT05                    SDXL, blocks with attention
  //   17  BASE IN01-IN02 IN04-IN05 IN07-IN08 MID OUT03-OUT11          SD 1 and 2, blocks with attention; presets
  //   20  BASE IN00-IN08 MID OUT00-OUT08                              SDXL
  //   26  BASE IN00-IN11 MID OUT00-OUT11                              SD 1 and 2
  //   61  CLIP T5 IN D00-D18 S00-S37 OUT                              FLUX
  // Errors: usage, naming the text and the orders.
  static Result<BlockWeights> parse(std::string_view text);

  // Multiplies the weights of all input_blocks, of the middle_block and of all output_blocks.
  void scale_sides(double in, double mid, double out);

  // The factor for a layer in `block` (as original_block has it). A block that the order leaves out has 0: it holds no
  // attention. A layer of the denoiser outside of blocks goes with BASE, as text encoders do; autoencoders have 1.
  double factor(io::Part part, std::string_view block) const;

  // As the arguments of a tag, "lbw=1,0.5,...:in=0.5"; what is 1 everywhere is left out, a preset is written as
  // numbers.
  std::string to_string() const;
  bool operator==(const BlockWeights&) const = default;

 private:
  double listed(io::Part part, std::string_view block) const;

  std::vector<std::string> labels_;  // with weights_; both are empty where there is no list
  std::vector<double> weights_;
  double in_ = 1, mid_ = 1, out_ = 1;
};

}  // namespace veneer::adapt
