// The two F8 kinds: E4M3 ("fn": bias 7, largest 448, no infinity, NaN 0x7F and 0xFF) and E5M2 (the upper byte of an
// F16). Decoding is exact, subnormals and signed zeros included; decoded NaNs are quiet and keep their sign. Encoding
// rounds to nearest, ties to even, and saturates: what is above the largest finite value, infinity included, becomes
// that value, and NaN becomes 0x7F with the sign kept. (Reference casts differ from each other there; a rule that gives
// neither NaN nor infinity for a number cannot turn a weight into a broken picture.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::codec {

void f8_e4m3_to_f32(const std::byte* in, int64_t count, float* out);
void f8_e5m2_to_f32(const std::byte* in, int64_t count, float* out);

// One value at a time; what the vector forms must equal.
float f8_e4m3_to_f32(uint8_t code);
float f8_e5m2_to_f32(uint8_t code);
uint8_t f32_to_f8_e4m3(float value);
uint8_t f32_to_f8_e5m2(float value);

}  // namespace veneer::codec
