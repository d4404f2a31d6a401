// Adapter requests as users write them: <lora:NAME:...> tags in a prompt, and the value of --adapter FILE[:...].
// Knows the words only; finding the file and what the numbers do to it are the adapter folder's matter.
//
//   tag   = "<" word ":" arg (":" arg)* ">"     word: lora or lyco, the same thing; args hold no ">"
//   arg   = value | key "=" value               positional ones in order: name, te, unet, dyn
//   key   = te, unet, dyn, in, mid, out, lbw
// A number for te holds for the denoiser too, unless that has its own. A named argument wins over a positional one.
// There is no escaping: a literal "<lora:" cannot be written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace veneer::text {

struct AdapterRequest {
  std::string name;                 // a path, or what stands for one
  double text_encoder_scale = 1.0;  // te
  double denoiser_scale = 1.0;      // unet
  std::optional<int64_t> dyn_rank;  // dyn: use only the first so many ranks
  double in_scale = 1.0;            // in, mid, out: factors on the three sides of a UNet
  double mid_scale = 1.0;
  double out_scale = 1.0;
  std::optional<std::string> block_weights;  // lbw: a preset or numbers, which adapt::BlockWeights reads and judges
  bool operator==(const AdapterRequest&) const = default;
};

struct TaggedPrompt {
  std::string text;                      // the prompt without its tags; the blanks around them stay
  std::vector<AdapterRequest> adapters;  // in order of mention
  std::vector<std::string> warnings;     // one line per tag that was removed without effect
};

// Takes every tag out of a positive prompt. Tags with another word (<hypernet:...>) are removed with a warning.
// Errors, each naming the tag: usage for a missing name, a malformed number or an argument that does not exist;
// unsupported for what the grammar knows and this program does not do (module, start, stop, step, values by step,
// |high_noise|).
Result<TaggedPrompt> take_adapter_tags(std::string_view prompt);

// Takes every tag out of a negative prompt, where none has an effect: `adapters` stays empty, each tag is a warning.
TaggedPrompt drop_adapter_tags(std::string_view negative_prompt);

// Reads the value of --adapter: a path, then the arguments of a tag. Colons up to the last "/" belong to the path.
// Errors: as for tags, naming the value.
Result<AdapterRequest> parse_adapter_option(std::string_view value);

}  // namespace veneer::text
