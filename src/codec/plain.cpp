// F32, F16, BF16 and F64 as they are: one value a block. F64 is only read, narrowed to float32.
#include <algorithm>
#include <cstring>

#include "codec/blocks.h"

namespace veneer::codec {
namespace {

void copy_f32(const std::byte* in, int64_t count, float* out) {
  std::copy_n(in, count * static_cast<int64_t>(sizeof(float)), reinterpret_cast<std::byte*>(out));
}

void narrow_f64(const std::byte* in, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    double value;
    std::memcpy(&value, in + 8 * i, sizeof value);
    out[i] = static_cast<float>(value);
  }
}

void encode_f32(std::span<const float> values, std::byte* out) { std::ranges::copy(std::as_bytes(values), out); }
void encode_f16(std::span<const float> values, std::byte* out) {
  f32_to_f16(values.data(), static_cast<int64_t>(values.size()), out);
}
void encode_bf16(std::span<const float> values, std::byte* out) {
  f32_to_bf16(values.data(), static_cast<int64_t>(values.size()), out);
}

}  // namespace

extern const Codec kF32{"f32", 1, 4, check_blocks, decode_rows<copy_f32>, encode_f32};
extern const Codec kF16{"f16", 1, 2, check_blocks, decode_rows<f16_to_f32>, encode_f16};
extern const Codec kBf16{"bf16", 1, 2, check_blocks, decode_rows<bf16_to_f32>, encode_bf16};
extern const Codec kF64{"f64", 1, 8, check_blocks, decode_rows<narrow_f64>, nullptr};

}  // namespace veneer::codec
