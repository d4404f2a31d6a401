// Small floating-point numbers without infinities: sign, exponent of 1 to 5 bits, mantissa; exponent 0 is subnormal and
// the bias is 2^(exponent bits - 1) - 1. Also the values of all bytes of the common 8-bit types, for table look-up.
#pragma once

#include <bit>
#include <cstdint>

namespace veneer::codec {

// Every code is a finite number. Minus zero becomes plus zero.
constexpr float minifloat(uint32_t code, int exponent_bits, int mantissa_bits, bool has_sign) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t mantissa = code & ((1u << mantissa_bits) - 1u);
  const uint32_t exponent = (code >> mantissa_bits) & ((1u << exponent_bits) - 1u);
  const auto power_of_two = [](int power) { return std::bit_cast<float>(static_cast<uint32_t>(power + 127) << 23); };
  const float fraction = static_cast<float>(mantissa) * power_of_two(-mantissa_bits);
  const float magnitude = exponent == 0 ? fraction * power_of_two(1 - bias)
                                        : (1.0f + fraction) * power_of_two(static_cast<int>(exponent) - bias);
  const bool negative = has_sign && ((code >> (exponent_bits + mantissa_bits)) & 1u) != 0;
  return negative && magnitude > 0.0f ? -magnitude : magnitude;
}

}  // namespace veneer::codec
