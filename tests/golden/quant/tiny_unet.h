// The small UNet that whole-model references were made with: two levels of 32 and 40 channels, run on the two samples
// that lie beside each set of files.
#pragma once

#include "io/model_files.h"
#include "tests/support/golden.h"

namespace veneer::test {

// What `part` makes of "sample", "timestep" and "encoder_hidden_states" equals golden's tensor `expected`, sample by
// sample, to `tolerance` of the largest value.
void expect_tiny_unet_gives(const io::ModelPart& part, const Golden& golden, const std::string& expected,
                            double tolerance);

}  // namespace veneer::test
