// Activations rounded to bfloat16, for products whose weights are.
#pragma once

#include "device/cpu/kernels.h"

namespace veneer::device::cpu {

// [rows, columns], dense, to nearest, ties to even.
void round_to_bf16(Rows<const float> x, int64_t rows, int64_t columns, uint16_t* y);

}  // namespace veneer::device::cpu
