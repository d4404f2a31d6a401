// What SD3 and FLUX.1 make of their prompts. Source of the numbers: the reference implementations of both, and for the
// lengths of T5's runs what the usual programs take; padding takes part in the attention, so the length matters.
#pragma once

#include "model/conditioner.h"

namespace veneer::model {

// CLIP-L and OpenCLIP-bigG side by side, without their last layers and final norms, filled up with zeros to the width
// of T5, and behind their tokens those of T5; the vector is both projected ones, CLIP-L's first. Zeros stand for an
// encoder that the model lacks; one of them must be there.
extern const TextPlan kSd3Text;
// The states of T5; the vector is CLIP-L's at the end token, without a projection.
extern const TextPlan kFluxText;

}  // namespace veneer::model
