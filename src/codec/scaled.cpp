// Codes of 8 bits times one scale, or one for each row, in float32: F8 of either kind and INT8. INT8 may be rotated
// along the inputs in groups (hadamard.h) on top.
//
// Side parts: "scale", plain numbers, one or as many as rows. Settings: "rotation", the group; 0 or absent for none.
#include <bit>

#include "codec/convert.h"
#include "codec/f8.h"
#include "codec/hadamard.h"
#include "codec/side.h"

namespace veneer::codec {
namespace {

Status check_scaled(const Weight& weight) {
  const Weight* scale = weight.side ? weight.side->find("scale") : nullptr;
  if (scale == nullptr) return misfit(weight, "has no scale");
  if (static_cast<int64_t>(weight.bytes.size()) != weight.elements())
    return misfit(weight, concat("takes ", weight.elements(), " bytes, found ", weight.bytes.size()));
  if (scale->elements() != 1 && scale->elements() != weight.rows())
    return misfit(weight,
                  concat("expected a scale of one or ", weight.rows(), " values, found ", scale->shape.to_string()));
  const int64_t group = weight.side->setting("rotation", 0);
  if (group != 0 &&
      (group < 0 || !std::has_single_bit(static_cast<uint64_t>(group)) || weight.row_values() % group != 0))
    return misfit(weight, concat("its rows cannot be rotated in groups of ", group));
  return scale->codec->check(*scale);
}

template <void (*to_f32)(const std::byte*, int64_t, float*)>
void decode_scaled(const Weight& weight, int64_t first, int64_t count, float* out) {
  const int64_t row_values = weight.row_values();
  const Weight& stored = *weight.side->find("scale");
  const bool shared = stored.elements() == 1;
  const std::vector<float> scale = side_numbers(stored, shared ? 0 : first, shared ? 1 : count);
  for (int64_t row = 0; row < count; ++row) {
    float* values = out + row * row_values;
    to_f32(weight.bytes.data() + (first + row) * row_values, row_values, values);
    const float factor = scale[static_cast<size_t>(shared ? 0 : row)];
    for (int64_t i = 0; i < row_values; ++i) values[i] *= factor;
  }
  if (const int64_t group = weight.side->setting("rotation", 0); group > 1)
    hadamard_rotate(out, count * row_values, group);
}

}  // namespace

extern const Codec kScaledF8E4m3{"f8_e4m3_scaled", 1, 1, check_scaled, decode_scaled<f8_e4m3_to_f32>, nullptr};
extern const Codec kScaledF8E5m2{"f8_e5m2_scaled", 1, 1, check_scaled, decode_scaled<f8_e5m2_to_f32>, nullptr};
extern const Codec kScaledInt8{"int8_scaled", 1, 1, check_scaled, decode_scaled<i8_to_f32>, nullptr};

}  // namespace veneer::codec
