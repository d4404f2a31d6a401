// Picture sizes: which are legal, and which is taken when none is asked for.
#pragma once

#include <algorithm>

#include "pipeline/request.h"

namespace veneer::pipeline {

struct Size {
  int width = 0, height = 0;
  bool operator==(const Size&) const = default;
};

inline constexpr int kLargestSide = 8192;

// Sides are whole multiples of the autoencoder's factor times the denoiser's patch, from eight latent pixels up to what
// the denoiser has positions for (`limit`, latent pixels; 0: any).
struct SizeRule {
  int multiple, smallest, largest;
  static SizeRule of(int factor, int patch, int64_t limit) {
    const int64_t largest = limit > 0 ? std::min<int64_t>(limit * factor, kLargestSide) : kLargestSide;
    const int multiple = factor * patch;
    return {multiple, std::min(8 * factor, static_cast<int>(largest)), static_cast<int>(largest) / multiple * multiple};
  }
};

Size nearest_legal(const Size& size, const SizeRule& rule);

// What a request comes to: the asked size, else the given picture's (rounded down to a legal one), else `native`.
// Errors: usage naming the nearest legal size.
Result<Size> resolve_size(const Request& request, const Size& native, const SizeRule& rule);

}  // namespace veneer::pipeline
