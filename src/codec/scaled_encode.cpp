// F8 codes with scales from numbers.
#include "codec/scaled_encode.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codec/f8.h"

namespace veneer::codec {
namespace {

float largest_of(const Codec& codec) { return codec.name == "f8_e4m3" ? f8_e4m3_to_f32(0x7E) : f8_e5m2_to_f32(0x7B); }

float scale_for(std::span<const float> values, const Codec& codec) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float scale = largest / largest_of(codec);
  return scale > 0 ? scale : 1.0f;
}

// Code by code through a small array, which stays in the cache.
void encode_divided(std::span<const float> values, float scale, const Codec& codec, std::byte* out) {
  constexpr size_t kChunk = 1024;
  float divided[kChunk];
  for (size_t done = 0; done < values.size(); done += kChunk) {
    const size_t count = std::min(kChunk, values.size() - done);
    for (size_t i = 0; i < count; ++i) divided[i] = values[done + i] / scale;
    codec.encode({divided, count}, out + done);
  }
}

}  // namespace

std::vector<StoredTensor> scaled_tensors(const ScaledForm& form, const Shape& shape) {
  if (shape.rank() < 2 || shape.elements() == 0) return {};
  const bool e4m3 = form.codec->name == "f8_e4m3";
  return {{".weight", e4m3 ? "F8_E4M3" : "F8_E5M2", shape},
          {".weight_scale", "F32", form.per_row ? Shape{shape[0]} : Shape{}}};
}

std::vector<std::vector<std::byte>> encode_scaled(const ScaledForm& form, std::span<const float> values,
                                                  const Shape& shape) {
  const auto parts = static_cast<size_t>(form.per_row ? shape[0] : 1);
  const size_t part_values = values.size() / parts;
  std::vector<std::byte> codes(values.size()), scales(parts * sizeof(float));
  for (size_t i = 0; i < parts; ++i) {
    const auto part = values.subspan(i * part_values, part_values);
    const float scale = scale_for(part, *form.codec);
    std::memcpy(scales.data() + i * sizeof scale, &scale, sizeof scale);
    encode_divided(part, scale, *form.codec, codes.data() + i * part_values);
  }
  return {std::move(codes), std::move(scales)};
}

}  // namespace veneer::codec
