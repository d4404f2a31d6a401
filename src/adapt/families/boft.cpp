// BOFT of LyCORIS: stages of rotations over interleaved outputs (a butterfly). Stage i takes runs of 2^i n outputs as
// two halves and rotates groups of n from their interleaving; blocks act untransposed, unlike OFT's. The strength
// enters every stage.
#include <algorithm>

#include "adapt/families/oft.h"

namespace veneer::adapt {
namespace {

bool claims(const KeyGroup& keys) {
  const KeyPart* blocks = keys.find("oft_blocks");
  return blocks && blocks->weight.shape.rank() == 4;
}

// Position (run, place, half) of the order holds output (run, half, place).
std::vector<int32_t> butterfly_order(int64_t rows, int64_t half_run) {
  std::vector<int32_t> order;
  for (int64_t run = 0; run < rows; run += 2 * half_run)
    for (int64_t place = 0; place < half_run; ++place)
      for (int64_t half = 0; half < 2; ++half) order.push_back(static_cast<int32_t>(run + half * half_run + place));
  return order;
}

Result<Lowered> to_terms(const KeyGroup& keys, const Site& site, const LowerOptions& options) {
  VENEER_TRY_STATUS(require_product(site, "BOFT"));
  Lowered lowered;
  lowered.strength_inside = true;
  Parts parts(keys, site, lowered);
  VENEER_TRY(rotations, output_rotations(parts, site));
  interpolate(rotations, options.strength);
  const int64_t n = rotations.n, per_stage = site.rows / n, stages = rotations.count / per_stage;
  const int64_t values_per_stage = per_stage * n * n;
  for (int64_t stage = 0; stage < stages; ++stage) {
    // The widest run that can be: beyond it the shift below would leave the numbers that exist.
    const bool fits = n % 2 == 0 && stage < 32 && site.rows % ((n / 2) << (stage + 1)) == 0;
    if (!fits)
      return mismatch(site, "oft_blocks ", parts.shape("oft_blocks").to_string(), ": stage ", stage,
                      " does not divide the layer's ", site.rows, " outputs");
    const auto first = rotations.values.begin() + stage * values_per_stage;
    const Blocks blocks{per_stage, n, std::vector<double>(first, first + values_per_stage)};
    lowered.terms.push_back(rotate_term(blocks, nn::Side::kOutput, butterfly_order(site.rows, (n / 2) << stage)));
  }
  if (parts.has("rescale")) {
    VENEER_TRY(gain, rescale_term(parts, site, options.strength));
    lowered.terms.push_back(std::move(gain));
  }
  return lowered;
}

}  // namespace

extern const Family kBoft{"boft", claims, to_terms};

}  // namespace veneer::adapt
