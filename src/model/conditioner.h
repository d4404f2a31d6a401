// How a family conditions its denoiser on text: plain data on the use of each text encoder, and one function that joins
// what the encoders gave. Knows no prompt syntax and no tokenizer, and computes nothing on a device.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "io/model_files.h"
#include "model/clip.h"
#include "model/parts.h"

namespace veneer::model {

enum class TextKind { kClip, kT5 };

// The use of one text encoder.
struct TextUse {
  io::Part part = io::Part::kTextEncoder;
  TextKind kind = TextKind::kClip;
  bool required = true;  // else `join` does without it

  // CLIP: prompts are cut into chunks of 77 ids, as many for all encoders.
  int clip_skip = 1;                      // 1: the states of the last layer, when no --clip-skip is given
  bool last_may_be_missing = false;       // files may leave out the layer that a clip_skip of 2 does not run
  bool final_norm = true;                 // of the states; the pooled vector always has it
  ClipPooled pooled = ClipPooled::kNone;  // the vector that `join` wants, of the first chunk
  std::optional<int32_t> pad_id = {};     // unset: the tokenizer's own

  // T5: one run of ids, closed by </s> and padded with 0.
  int64_t length = 0;       // ids, padding included; the most of them where padding is masked
  bool grows = false;       // longer prompts take whole multiples of the length; else they are cut
  bool masked = false;      // padding is hidden from the encoder and from the denoiser
  bool lower_case = false;  // of the prompts, before they are cut into tokens
};

using TextEncoders = std::map<io::Part, std::unique_ptr<TextEncoder>>;

// What one encoder made of one prompt. All empty when the model lacks the encoder.
struct EncodedText {
  Tensor states;  // [1, tokens, width]: all chunks, one after another
  Tensor pooled;  // [1, pooled width], empty unless TextUse::pooled asks for it
  Tensor mask;    // [1, tokens]: 0 or -infinity, empty unless TextUse::masked
};

// What the denoiser is given for one prompt: Denoiser::Input::context, context_mask and vector, of batch 1.
struct Condition {
  Tensor states, mask, vector;
};

struct JoinInput {
  std::span<const EncodedText> texts;  // in the order of the family's uses
  const Denoiser& denoiser;            // for the widths it takes
  int64_t height = 0, width = 0;       // of the picture
  bool negative = false;               // these are texts of the negative prompt
  bool blank = false;  // the negative prompt is empty and zeros stand for it: of the texts only the sizes count
};

// Never fails: with encoders of another family it gives widths that do not fit the denoiser, and whoever builds the
// model looks at them.
using Join = Condition (*)(const JoinInput& input);

// What `join` gives for texts of so many tokens (per use), all zeros: its sizes are those of a run.
struct TextPlan {
  std::span<const TextUse> uses;
  Join join;
};
Condition blank_condition(const TextPlan& plan, const TextEncoders& encoders, const Denoiser& denoiser,
                          std::span<const int64_t> tokens);

// How many layers at the end of a CLIP encoder are not run for `asked` (--clip-skip; below 1: the family's own).
int64_t layers_left_out(const TextUse& use, const TextEncoder& encoder, int asked);

// Building blocks of joins.
// Rows of `a` beside rows of `b`: [1, tokens, a + b]; of two empty tensors or one, what is there.
Tensor beside(const Tensor& a, const Tensor& b);
// Tokens of `a`, then those of `b`, narrower ones filled up with zeros: [1, a + b, max].
Tensor behind(const Tensor& a, const Tensor& b);
// [1, values.size() * width]: of each value the cosines, then the sines, of value * 10000^(-i / (width / 2)).
Tensor sinusoids(std::span<const double> values, int64_t width);

}  // namespace veneer::model
