// What OFT and BOFT of kohya and LyCORIS share: blocks, their constraint and the rescaling of rows.
#pragma once

#include "adapt/families/rotation.h"

namespace veneer::adapt {

// The rotations of "oft_blocks", [..., n, n] with `per_stage` blocks of n that must cover the site's rows: the Cayley
// map of B - B^T. "alpha" is no scale here but a limit: when it is not 0, all blocks together are kept below
// alpha * rows. Errors: mismatch naming the layer and the shapes.
Result<Blocks> output_rotations(Parts& parts, const Site& site);

// "rescale", a factor per output that counts from 1 by the strength. Errors: as Parts::vector.
Result<nn::Gain> rescale_term(Parts& parts, const Site& site, double strength);

}  // namespace veneer::adapt
