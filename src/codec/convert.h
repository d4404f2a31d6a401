// Arrays of plain numbers from one type to another, by the widest vector unit that the processor has.
// Subnormals are kept; rounding is to nearest, ties to even; float32 beyond 65519 becomes an infinity in F16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::codec {

void f16_to_f32(const std::byte* in, int64_t count, float* out);   // `in` need not be aligned
void bf16_to_f32(const std::byte* in, int64_t count, float* out);  // `in` need not be aligned
void i8_to_f32(const std::byte* in, int64_t count, float* out);
void u8_to_f32(const std::byte* in, int64_t count, float* out);
void f32_to_f16(const float* in, int64_t count, std::byte* out);
void f32_to_bf16(const float* in, int64_t count, std::byte* out);

// One value at a time; what the vector forms must equal.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

}  // namespace veneer::codec
