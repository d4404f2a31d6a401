// Picture sizes: which are legal, and which is taken when none is asked for.
#pragma once

#include "pipeline/request.h"

namespace veneer::pipeline {

struct Size {
  int width = 0, height = 0;
  bool operator==(const Size&) const = default;
};

// Sides are whole multiples of the autoencoder's factor times the denoiser's patch, from eight latent pixels up.
struct SizeRule {
  int multiple, smallest;
  static SizeRule of(int factor, int patch) { return {factor * patch, 8 * factor}; }
};

inline constexpr int kLargestSide = 8192;

Size nearest_legal(const Size& size, const SizeRule& rule);

// What a request comes to: the asked size, else the given picture's (rounded down to a legal one), else `native`.
// Errors: usage naming the nearest legal size.
Result<Size> resolve_size(const Request& request, const Size& native, const SizeRule& rule);

}  // namespace veneer::pipeline
