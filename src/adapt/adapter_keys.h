// What the name of a tensor in an adapter file says: which component it is for, which module, and which part of a
// family's data it is. Knows the spellings of trainers and libraries; knows no model: whether a module exists, and what
// "to_q" with its underscores means, is for the table of a loaded model to tell (resolver.h).
//
// A key reads <prefix><module><part>:
//   lora_unet_|down_blocks_0_resnets_0_conv1|.lora_down.weight      kohya, LyCORIS
//   unet.|down_blocks.0.resnets.0.conv1|.lora_A.weight              diffusers, PEFT
//   unet.|mid_block.attentions.0.attn1.processor.to_q|_lora.up.weight  old diffusers
//   unet|:12|:up                                                    cloneofsimo: modules by number
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/model_files.h"

namespace veneer::adapt {

struct ParsedKey {
  std::string prefix;    // an entry of the prefix table: "lora_unet_", "text_encoder."; empty when there is none
  std::string module;    // what a model's table is asked for; dots or underscores as the file has them, ":12" by number
  std::string part;      // canonical: "down", "up", "alpha", "hada_w1_a"; empty when the ending is no known one
  std::string place;     // the text before the part, as the file spells it
  bool is_peft = false;  // spelled as only PEFT does
  bool operator==(const ParsedKey&) const = default;
};

// Accepts any text. The longest known ending is the part; an adapter's name where PEFT puts one
// ("lora_A.default.weight") is left out. The module is rewritten where a spelling names it differently: ".processor" is
// left out, to_q of a CLIP layer is q_proj, the processors of XLabs' FLUX adapters are the layers they stand for.
ParsedKey parse_key(std::string_view key);

// The components that a prefix can mean, in the order in which they are asked for a module; empty for a prefix of a
// model that this program does not have. A T5 encoder is the third text encoder here, wherever a file numbers it.
std::span<const io::Part> parts_of(std::string_view prefix);

// True for a module given by number.
inline bool is_numbered(std::string_view module) { return module.starts_with(':'); }

// "down_blocks.0.conv" -> "down_blocks_0_conv".
std::string underscored(std::string_view name);

}  // namespace veneer::adapt
