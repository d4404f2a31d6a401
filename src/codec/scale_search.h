// The arithmetic that the searching encoders share.
#pragma once

#include <algorithm>
#include <limits>

#include "codec/blocks.h"

namespace veneer::codec {

constexpr int kSuperBlock = 256;  // values of one block
constexpr int kRefits = 2;        // how often the F16 scales of a block are fitted again
constexpr double kWorst = std::numeric_limits<double>::infinity();

// The nearest integer in low..high; low for what is no number. Encoders keep integers as doubles: all they are for is
// sums, and conversions would take longer than those.
inline double nearest(double value, double low, double high) {
  const double inside = value > low ? std::min(value, high) : low;
  return (inside + 0x1.8p52) - 0x1.8p52;  // drops the fraction, ties to even
}

// The F16 number nearest to a scale, kept finite.
inline float storable(double scale) {
  return f16_to_f32(f32_to_f16(static_cast<float>(std::clamp(scale, -65504.0, 65504.0))));
}

}  // namespace veneer::codec
