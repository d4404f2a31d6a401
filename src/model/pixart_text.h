// What PixArt makes of its prompts: T5 states of the lower-cased text, padding hidden, and for those that are told it
// the size of the picture. Source of the numbers: the reference implementations of PixArt alpha and sigma.
#pragma once

#include "model/conditioner.h"

namespace veneer::model {

// 120 tokens.
extern const TextPlan kPixArtAlphaText;
// 300 tokens.
extern const TextPlan kPixArtSigmaText;

}  // namespace veneer::model
