// What the families of UNets make of their prompts. Source of the numbers: the reference implementations of Stable
// Diffusion 1, 2 and XL.
#pragma once

#include "model/conditioner.h"

namespace veneer::model {

// CLIP-L, all layers.
extern const TextPlan kSd1Text;
// OpenCLIP-H, all layers but the last.
extern const TextPlan kSd2Text;
// CLIP-L and OpenCLIP-bigG side by side, without their last layers and final norms; the vector is bigG's pooled one and
// the sinusoids of six numbers: height and width of the original, top and left of the crop, height and width of the
// picture. An empty negative prompt is zeros.
extern const TextPlan kSdxlText;
// OpenCLIP-bigG; the last two of the six numbers are one, the aesthetic score: 6, or 2.5 for the negative prompt. Never
// zeros.
extern const TextPlan kSdxlRefinerText;

}  // namespace veneer::model
